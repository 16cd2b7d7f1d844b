"""Steps from the device alone: optimizer clusters, gradient collectives, a repeating sequence."""

from __future__ import annotations

import pytest

from tests.support.export import us
from tests.support.step_lane import COMM, reasons, spans
from tests.support.step_program import ADAM, LERP, SGD, Program, tiles

STEPS = 7


def trained(steps: int = STEPS, **options: int | str) -> Program:
    """Steps of forward, backward and an optimizer, without any annotation."""
    program = Program()
    for _ in range(steps):
        for _ in range(int(options.get("micro_batches", 1))):
            program.forward()
            program.backward()
        program.optimizer(name=str(options.get("optimizer", ADAM)))
        program.edge()
        program.pause()
    return program


@pytest.mark.parametrize("micro_batches", [1, 4])
def test_optimizer_clusters_end_steps(micro_batches: int) -> None:
    program = trained(micro_batches=micro_batches)
    steps = program.lane.steps()
    assert steps.source == "optimizer_kernels"
    assert spans(steps) == tiles(program.edges)
    assert reasons(steps) == {0: "partial"}
    assert [window.index for window in steps.windows] == list(range(1, STEPS))
    assert {window.ops for window in steps.windows} == {micro_batches * 62 + 8}


def test_a_host_far_ahead_of_the_device() -> None:
    """All steps are launched before the first one is over."""
    program = Program()
    for _ in range(STEPS):
        program.forward()
        program.backward()
        program.optimizer()
        program.edge()
    steps = program.lane.steps()
    assert program.now < program.edges[1]
    assert spans(steps) == tiles(program.edges)


def test_work_after_the_last_cluster_is_a_cut_step() -> None:
    program = trained()
    program.forward()
    assert reasons(program.lane.steps()) == {0: "partial", STEPS: "partial"}


def test_an_optimizer_with_products_is_one_cluster() -> None:
    """Muon multiplies matrices between its updates; then something is copied."""
    program = Program()
    for _ in range(STEPS):
        program.forward()
        program.backward()
        for _ in range(5):
            program.kernel("sm90_gemm_newton_schulz", "gemm", us(20))
            program.optimizer(2, LERP)
        program.edge()
        program.kernel("copy_parameters", "copy")
        program.pause()
    assert spans(program.lane.steps()) == tiles(program.edges)


def test_models_may_lerp_without_ending_a_step() -> None:
    """A forward kernel of the optimizer class: no optimizer's functor, no foreach."""
    program = Program()
    for _ in range(STEPS):
        program.forward(2)
        program.kernel("vectorized_elementwise_kernel<4, addcmul_cuda_kernel>", "optimizer")
        program.forward(2)
        program.backward()
        program.optimizer()
        program.edge()
        program.kernel("vectorized_elementwise_kernel<4, lerp_cuda_kernel>", "optimizer")
        program.pause()
    steps = program.lane.steps()
    # What the optimizer class runs before the next pass belongs to its cluster.
    assert len(steps.windows) == STEPS - 1
    assert [window.optimizer_ops for window in steps.windows] == [10] * (STEPS - 1)


def test_averages_kept_after_a_look_at_the_loss_end_the_same_step() -> None:
    """Another forward pass, then averaged weights: no backward between the two updates."""
    program = Program()
    for _ in range(STEPS):
        program.forward()
        program.backward()
        program.optimizer()
        program.forward(8)
        program.optimizer(3, LERP)
        program.edge()
        program.pause()
    assert spans(program.lane.steps()) == tiles(program.edges)


def test_updates_inside_backward_are_one_step() -> None:
    """An optimizer per layer, called by hooks while backward still runs."""
    program = Program()
    for _ in range(STEPS):
        program.forward()
        for _ in range(6):
            program.backward(1)
            program.optimizer(2)
        program.edge()
        program.pause()
    assert spans(program.lane.steps()) == tiles(program.edges)


def test_two_models_in_turn_are_one_step() -> None:
    program = Program()
    for _ in range(STEPS):
        program.forward(2)
        program.backward(2)
        program.optimizer()
        program.forward(5)
        program.backward(4)
        program.optimizer()
        program.edge()
        program.pause()
    assert spans(program.lane.steps()) == tiles(program.edges)


def test_without_backward_nothing_is_trained() -> None:
    """Exponential averages while serving: an optimizer's kernel, yet no step."""
    program = Program()
    for _ in range(STEPS):
        program.forward()
        program.kernel(LERP, "optimizer")
        program.pause()
    steps = program.lane.steps()
    assert steps.source != "optimizer_kernels"
    assert steps.confidence <= 0.6


def reduced(reduces: int = 3) -> Program:
    """An unknown optimizer; gradients are reduced in buckets while backward runs."""
    program = Program()
    for _ in range(STEPS):
        program.forward()
        end = 0
        for _ in range(reduces):
            program.backward(2)
            end = program.reduce()
        program.edges.append(end)
        for _ in range(12):
            program.kernel("my_own_update", "other", us(8))
        program.pause()
    return program


@pytest.mark.parametrize("reduces", [1, 3])
def test_the_last_gradient_collective_ends_a_step(reduces: int) -> None:
    program = reduced(reduces)
    steps = program.lane.steps()
    assert steps.source == "collectives"
    assert spans(steps) == tiles(program.edges)
    assert steps.confidence == 0.6
    assert reasons(steps)[0] == "partial"


def test_communicators_are_told_apart() -> None:
    """Tensor-parallel reductions share the stream with the gradient's, but not the communicator."""
    program = Program()
    ends = []
    for _ in range(STEPS):
        for _ in range(4):
            program.forward(1)
            at = program.now
            program.reduce()
            program.lane.nccl("all_reduce", at - 100, at + us(1), comm="tp")
        program.backward(6)
        at = program.now
        ends.append(program.reduce())
        program.lane.nccl("all_reduce", at - 100, at + us(1), comm="dp")
        program.kernel("my_own_update", "other", us(8))
        program.pause()
    steps = program.lane.steps()
    assert steps.source == "collectives"
    assert spans(steps) == tiles(ends)


def test_a_reduction_per_layer_is_no_step() -> None:
    """Serving with tensor parallelism: collectives, but no backward."""
    program = Program()
    for _ in range(60):
        program.forward(1)
        program.reduce(COMM)
    steps = program.lane.steps()
    assert (steps.source, len(steps.windows)) == ("none", 1)


def test_the_sequence_with_an_unusual_optimizer() -> None:
    """Plain foreach additions (SGD) mark the steps only because the whole sequence repeats."""
    program = trained(optimizer=SGD)
    steps = program.lane.steps()
    assert steps.source == "sequence"
    assert spans(steps) == tiles(program.edges)
    assert steps.confidence == 0.6


def test_three_periods_are_too_few() -> None:
    assert trained(3, optimizer=SGD).lane.steps().source == "none"


def forward_passes(count: int, *, read: bool, layers: int = 12) -> Program:
    program = Program()
    for _ in range(count):
        program.forward(layers)
        if read:
            at = program.now
            program.lane.copy_back(program.busy[7] + us(1), program.busy[7] + us(3), at)
            program.busy[7] += us(3)
            program.edge()
            program.now = program.busy[7] + us(20)
        program.pause()
    return program


def test_forward_passes_are_a_repeating_unit() -> None:
    """The trap of a real trace: a forward pass repeats as exactly as a step would."""
    steps = forward_passes(STEPS, read=False).lane.steps()
    assert (steps.source, len(steps.windows)) == ("none", 1)
    assert "not a step" in (steps.note or "")


def test_forward_passes_whose_result_is_read() -> None:
    """Windows, but never called a step: nothing is trained."""
    program = forward_passes(STEPS, read=True)
    steps = program.lane.steps()
    assert steps.source == "sequence"
    assert spans(steps) == tiles(program.edges)
    assert steps.confidence <= 0.4
    assert "repeating unit of 62 kernels, not a step" in (steps.note or "")


def test_a_result_that_is_read_without_waiting_marks_nothing() -> None:
    program = Program()
    for _ in range(STEPS):
        program.forward(12)
        at = program.now
        program.lane.copy_back(program.busy[7], program.busy[7] + us(2), at, wait=False)
        program.pause()
    assert program.lane.steps().source == "none"


def test_layers_are_no_steps() -> None:
    """Twenty kernels, forty times: a layer, too short for a step."""
    program = Program()
    for _ in range(40):
        for k in range(20):
            program.kernel(f"kernel_{k}", "gemm")
    steps = program.lane.steps()
    assert steps.source == "none"
    assert steps.note == "a repeating unit of 20 kernels, not a step"


def test_annotated_steps_are_asked_first() -> None:
    program = Program()
    for step in range(STEPS):
        with program.range(f"step {step}"):
            program.forward()
            program.backward()
            program.optimizer()
            program.kernel("after_the_optimizer", "other")
        program.edge()
        program.pause()
    steps = program.lane.steps()
    assert steps.source == "nvtx_step"
    assert spans(steps)[1:] == tiles(program.edges)
