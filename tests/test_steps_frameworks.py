"""Steps from ranges of frameworks and optimizers: what begins one, what ends one, what is none."""

from __future__ import annotations

import pytest

from nsysflow.settings import Settings
from tests.support.export import us
from tests.support.step_lane import AUTOGRAD, reasons, spans
from tests.support.step_program import Program, tiles

STEPS = 6
LONG = 20  # layers that take longer than a step


def begun() -> Program:
    """Some work before the first step, so that its leading gap is seen."""
    program = Program()
    program.kernel("warm_up", "other")
    program.edge()
    program.pause()
    return program


def test_lightning_batches_are_steps() -> None:
    program = begun()
    for _ in range(STEPS):
        with program.range("[pl][profile]run_training_batch"):
            program.forward()
            program.backward()
            program.optimizer()
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert (steps.source, steps.pattern) == ("framework", "[pl][profile]run_training_batch")
    assert spans(steps) == tiles(program.edges)
    assert len(steps.kept) == STEPS


def test_lightning_accumulates_until_its_optimizer_steps() -> None:
    """Four batches a step: the optimizer's range lies inside the last one."""
    program = begun()
    for _ in range(STEPS):
        for batch in range(4):
            with program.range("[pl][profile]run_training_batch"):
                program.forward()
                program.backward()
                if batch == 3:
                    with program.range("[pl][profile][LightningModule]Net.optimizer_step"):
                        program.optimizer()
                program.kernel("log", "reduce")
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert steps.source == "framework"
    assert spans(steps) == tiles(program.edges)
    assert not any("no_optimizer" in window.flags for window in steps.windows)


@pytest.mark.parametrize("domain", [0, 4])
@pytest.mark.parametrize("micro_batches", [1, 3])
def test_deepspeed_steps_end_with_the_step_that_updates(micro_batches: int, domain: int) -> None:
    """DeepSpeed calls step after every micro-batch; only the last one runs the optimizer."""
    program = begun()
    program.lane.domain(4, "deepspeed")
    for _ in range(STEPS):
        program.kernel("copy_batch", "copy")  # before the forward range: the later step's
        for batch in range(micro_batches):
            with program.range("DeepSpeedEngine.forward", domain=domain):
                program.forward()
            with program.range("DeepSpeedEngine.backward", domain=domain):
                program.backward()
            with program.range("DeepSpeedEngine.step", domain=domain):
                if batch == micro_batches - 1:
                    program.optimizer()
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert (steps.source, len(steps.kept)) == ("framework", STEPS)
    # The copy before the very first forward belongs to no step's range: it is the leading edge.
    assert spans(steps)[1:] == tiles(program.edges)[1:]


def test_deepspeed_cut_by_the_capture() -> None:
    """The capture begins inside a step and ends inside another."""
    program = begun()
    with program.range("DeepSpeedEngine.step"):
        program.optimizer()
    program.edges = [program.busy[7]]
    for step in range(STEPS):
        with program.range("DeepSpeedEngine.forward"):
            program.forward()
            program.backward()
        if step < STEPS - 1:
            with program.range("DeepSpeedEngine.step"):
                program.optimizer()
            program.edge()
    steps = program.lane.steps()
    assert spans(steps) == tiles(program.edges)
    assert reasons(steps) == {STEPS - 1: "partial"}


def test_megatron_train_step_before_its_schedules() -> None:
    program = begun()
    for _ in range(STEPS):
        with program.range("megatron.training.training.train_step"):
            with program.range("core.schedules.forward_backward_no_pipelining"):
                program.forward()
                program.backward()
            program.optimizer()
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert steps.pattern == "megatron.training.training.train_step"
    assert spans(steps) == tiles(program.edges)


def test_megatron_schedules_begin_steps() -> None:
    """Only the schedule is annotated: the optimizer after it is of the same step."""
    program = begun()
    for _ in range(STEPS):
        with program.range("core.schedules.forward_backward_no_pipelining"):
            program.forward()
            program.backward()
        program.optimizer()
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert steps.source == "framework"
    assert spans(steps) == tiles(program.edges)[:-1]
    assert reasons(steps) == {STEPS - 1: "partial"}


def optimizers(program: Program, *names: str) -> None:
    for name in names:
        with program.range(f"Optimizer.step#{name}.step"):
            program.optimizer(4)


@pytest.mark.parametrize("names", [("AdamW",), ("AdamW", "SGD"), ("Adam", "Adam", "Adam")])
def test_several_optimizers_end_one_step(names: tuple[str, ...]) -> None:
    program = Program()
    for _ in range(STEPS):
        program.forward()
        program.backward()
        optimizers(program, *names)
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert steps.source == "optimizer_range"
    assert spans(steps) == tiles(program.edges)
    assert reasons(steps) == {0: "partial"}


@pytest.mark.parametrize("names", [("Adam", "Adam"), ("Adam", "SGD")])
def test_two_models_trained_in_turn_are_one_step(names: tuple[str, str]) -> None:
    """A GAN: as much time between the two optimizers as after them, but not the same work."""
    program = Program()
    for _ in range(STEPS):
        program.forward(2)
        program.backward(2)
        optimizers(program, names[0])
        program.forward(4)
        program.backward(3)
        optimizers(program, names[1])
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert spans(steps) == tiles(program.edges)


def test_an_evaluation_every_third_step_makes_no_cycle() -> None:
    program = Program()
    for step in range(9):
        program.forward()
        program.backward()
        optimizers(program, "AdamW")
        program.edge()
        if step % 3 == 2:
            with program.range("evaluate"):
                program.forward(LONG)
        program.pause()
    steps = program.lane.steps()
    assert spans(steps) == tiles(program.edges)
    assert reasons(steps) == {0: "partial", 3: "eval", 6: "eval", 9: "partial"}


def test_an_optimizer_range_inside_another_counts_once() -> None:
    program = Program()
    for _ in range(STEPS):
        program.forward()
        program.backward()
        with program.range("optimizer_step"):
            optimizers(program, "AdamW")
            program.kernel("ema", "elementwise")
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert (steps.pattern, spans(steps)) == ("optimizer_step", tiles(program.edges))


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("TSL:Thunk:#name=fusion#", "JAX"),
        ("[Executor] _forward_step 3: 1 ctx reqs, 9 gen reqs", "inference"),
    ],
)
def test_what_is_refused_says_why(text: str, word: str) -> None:
    program = Program()
    for _ in range(STEPS):
        with program.range(text, domain=9):
            program.forward()
            program.backward()
            program.optimizer()
        program.pause()
    steps = program.lane.steps()
    assert (steps.source, len(steps.windows)) == ("none", 1)
    assert word in (steps.note or "")
    named = program.lane.steps(Settings(step_range="Thunk|Executor"))
    assert named.source == "user"
    assert len(named.kept) == STEPS - 1  # the first one's leading gap was not seen


def test_numbered_micro_batches_disagree_with_the_optimizer() -> None:
    program = begun()
    for step in range(8):
        with program.range(f"step {step}"):
            program.forward()
            program.backward()
            if step % 4 == 3:
                optimizers(program, "AdamW")
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert spans(steps) == tiles(program.edges)
    assert steps.confidence == 0.5
    note = steps.note or ""
    assert "micro-batches" in note
    flagged = [window.index for window in steps.windows if "no_optimizer" in window.flags]
    assert flagged == [0, 1, 2, 4, 5, 6]


def test_two_periods_are_both_reported() -> None:
    """No optimizer kernel is known, yet optimizer ranges end every fourth numbered range."""
    program = begun()
    for step in range(16):
        with program.range(f"batch {step}"):
            program.forward()
            program.backward()
            if step % 4 == 3:
                with program.range("Optimizer.step#Own.step"):
                    program.kernel("my_update", "other")
        program.pause()
    steps = program.lane.steps()
    assert (steps.source, steps.confidence) == ("nvtx_step", 0.5)
    assert "one of them is not the step" in (steps.note or "")


def test_optimizers_that_fit_the_steps_do_not_disagree() -> None:
    program = begun()
    for step in range(STEPS):
        with program.range(f"step {step}"):
            program.forward()
            program.backward()
            optimizers(program, "AdamW", "SGD")
        program.pause()
    steps = program.lane.steps()
    assert (steps.confidence, steps.note) == (0.95, None)


def test_a_users_pattern_that_fits_nothing_is_told() -> None:
    program = begun()
    for step in range(STEPS):
        with program.range(f"step {step}"):
            program.forward()
        program.pause()
    steps = program.lane.steps(Settings(step_range="^nothing$"))
    assert steps.source == "nvtx_step"
    assert "--step-range" in (steps.note or "")


def test_backward_on_the_autograd_thread_is_owned() -> None:
    program = begun()
    for step in range(STEPS):
        with program.range(f"step {step}"):
            program.forward()
            program.backward()
            program.optimizer()
        program.pause()
    program.lane.range("step 1", us(1), us(2), thread=AUTOGRAD)
    steps = program.lane.steps()
    assert {window.ops for window in steps.windows} == {32 + 30 + 8}
