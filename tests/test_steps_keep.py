"""Which steps count: every reason to drop one, what is flagged, how far the steps are trusted."""

from __future__ import annotations

import random
from collections.abc import Callable

import numpy as np
import pytest

from nsysflow.analyse.agreement import disagreements
from nsysflow.analyse.steps_cycle import Event, cycle_length, outermost, period, together
from nsysflow.settings import Settings
from tests.support.export import ms, us
from tests.support.step_lane import AUTOGRAD, reasons
from tests.support.step_program import Program

STEPS, ODD = 7, 3
Deed = Callable[[Program], None]


def trained(deed: Deed | None = None, odd: tuple[int, ...] = (ODD,)) -> Program:
    """Numbered steps of some 3 ms; ``deed`` happens in the odd ones, after their work."""
    program = Program()
    program.kernel("warm_up", "other")
    program.pause()
    for step in range(STEPS):
        with program.range(f"step {step}"):
            program.forward()
            program.backward()
            program.optimizer()
            if deed is not None and step in odd:
                deed(program)
        program.pause()
    return program


def during(text: str, length: int = us(100)) -> Deed:
    def deed(program: Program) -> None:
        with program.range(text):
            program.now += length

    return deed


def calling(name: str, length: int = us(100), thread: int = 100) -> Deed:
    def deed(program: Program) -> None:
        program.lane.call(name, program.now, program.now + length, thread)
        program.now += length

    return deed


def recording(name: str, kind: int, length: int, thread: int = 100) -> Deed:
    def deed(program: Program) -> None:
        program.lane.overhead(name, kind, program.now, program.now + length, thread)
        program.now += length

    return deed


def opening(program: Program) -> None:
    program.lane.nccl("comm_init", program.now, program.now + us(50))
    program.now += us(60)


DROPPED: list[tuple[str, Deed]] = [
    ("checkpoint", during("save_checkpoint")),
    ("checkpoint", during("torch.save(model)")),
    ("eval", during("validation step 3")),
    ("eval", during("evaluate")),
    ("jit_or_load", calling("cuModuleLoadDataEx", ms(1))),
    ("jit_or_load", calling("cuLibraryLoadData", us(50))),
    ("jit_or_load", during("TorchDynamo compile", ms(1))),
    ("jit_or_load", recording("Runtime Triggered Module Loading", 6, ms(1))),
    ("graph_capture", calling("cudaStreamBeginCapture_v10000", us(2))),
    ("graph_capture", calling("cudaGraphInstantiate_v12000", us(2))),
    ("profiler", calling("cudaProfilerStart_v4000", us(2))),
    ("profiler", calling("cuProfilerStop", us(2))),
    ("profiler", recording("CUPTI Buffer flush", 3, us(200))),
    ("nccl_init", opening),
]
KEPT: list[Deed] = [
    calling("cuModuleLoadDataEx", us(5)),  # less than 1 % of the step
    calling("cudaStreamGetCaptureInfo_v2_v11030"),
    calling("cuModuleGetLoadingMode"),
    calling("cuModuleUnload"),
    calling("cudaMalloc_v3020"),
    recording("CUPTI Buffer flush", 3, us(5)),
    recording("CUPTI Buffer flush", 3, us(200), thread=999),  # a thread that launches nothing
    during("aten::evaluate"),
    during("evaluator"),
    during("checkpoint"),
    during("log_metrics"),
]


@pytest.mark.parametrize(("reason", "deed"), DROPPED)
def test_what_drops_a_step(reason: str, deed: Deed) -> None:
    steps = trained(deed).lane.steps()
    assert reasons(steps) == {ODD: reason}
    assert len(steps.kept) == STEPS - 1
    assert steps.confidence == 0.95


@pytest.mark.parametrize("deed", KEPT)
def test_what_does_not(deed: Deed) -> None:
    assert reasons(trained(deed).lane.steps()) == {}


def test_loading_is_counted_once_and_summed() -> None:
    """Eight loads of a fifth of a percent spoil a step, the same instants eight times do not."""

    def apart(program: Program) -> None:
        for _ in range(8):
            calling("cuModuleLoadData", us(6))(program)

    def nested(program: Program) -> None:
        for _ in range(8):
            program.lane.call("cuModuleLoadData", program.now, program.now + us(6))
        program.now += us(6)

    assert reasons(trained(apart).lane.steps()) == {ODD: "jit_or_load"}
    assert reasons(trained(nested).lane.steps()) == {}


def test_the_users_pattern_names_an_evaluation() -> None:
    program = trained(during("measure perplexity"))
    settings = Settings(cause_patterns=(("eval", "perplexity"),))
    assert reasons(program.lane.steps(settings)) == {ODD: "eval"}


def test_what_evaluations_cost() -> None:
    steps = trained(during("evaluate", ms(2)), odd=(2, 5)).lane.steps()
    (cost,) = steps.amortised
    assert (cost["kind"], cost["count"]) == ("eval", 2)
    # The next step waits for the evaluation: windows end with device work, so it pays.
    assert cost["ns_each"] >= 0
    assert reasons(steps) == {2: "eval", 5: "eval"}


def test_nothing_undisturbed_keeps_everything() -> None:
    steps = trained(during("evaluate"), odd=tuple(range(STEPS))).lane.steps()
    assert (len(steps.kept), steps.confidence) == (STEPS, 0.3)
    assert "all are kept" in (steps.note or "")
    assert steps.amortised == ()


def test_a_specific_reason_goes_before_the_unseen_gap() -> None:
    """A first step that loads modules, and too few others to spare it for its gap alone."""
    program = Program()
    for step in range(3):
        with program.range(f"step {step}"):
            program.forward()
            program.backward()
            if step == 0:
                calling("cuModuleLoadData", ms(1))(program)
        program.pause()
    steps = program.lane.steps()
    assert reasons(steps) == {0: "jit_or_load"}
    assert steps.confidence == 0.95


def test_device_windows_place_what_the_host_did() -> None:
    """Without step ranges an evaluation drops the window that holds most of it."""
    program = Program()
    for step in range(STEPS):
        program.forward()
        program.backward()
        program.optimizer()
        if step == ODD:
            with program.range("evaluate"):
                program.pause(ms(1))
        program.pause()
    steps = program.lane.steps()
    assert steps.source == "optimizer_kernels"
    # The evaluation follows the optimizer of step 3, so that it lies in the window of step 4.
    assert reasons(steps) == {0: "partial", ODD + 1: "eval"}


def test_autograd_threads_count_as_launching() -> None:
    steps = trained(recording("CUPTI Buffer flush", 3, us(200), thread=AUTOGRAD)).lane.steps()
    assert reasons(steps) == {ODD: "profiler"}


# What repeats


def test_the_period_of_a_sequence_against_brute_force() -> None:
    rng = random.Random(5)  # noqa: S311 - repeatable
    found = 0
    for _ in range(200):
        unit = [rng.randrange(6) for _ in range(rng.randint(2, 12))] + [99]
        tokens = np.array(unit * rng.randint(4, 9) + unit[: rng.randint(0, len(unit))], np.int64)
        for place in rng.sample(range(len(tokens)), len(tokens) // 60):
            tokens[place] = 7
        got = period(tokens)
        shares = {
            p: float(np.mean(tokens[p:] == tokens[:-p])) for p in range(1, len(tokens) // 4 + 1)
        }
        best = max(shares.values())
        if best < 0.9:
            assert got is None
            continue
        found += 1
        assert got == min(p for p, share in shares.items() if share >= max(0.9, best - 0.005))
    assert found > 150


def test_no_period_in_noise() -> None:
    rng = np.random.default_rng(1)
    assert period(rng.integers(0, 40, 5000)) is None
    assert period(np.empty(0, np.int64)) is None


@pytest.mark.parametrize(
    ("names", "ops", "expected"),
    [
        ("aaaaaa", [0, 100, 101, 100, 100, 99], 1),
        ("aaaaaa", [0, 100, 200, 100, 200, 100], 2),
        ("ababab", [0, 100, 100, 100, 100, 100], 2),
        ("abcabc", [0, 5, 5, 100, 5, 5], 3),
        ("aaaaaaaaa", [0, 100, 100, 160, 100, 100, 160, 100, 100], 1),
        ("aaaaaa", [0, 100, 130, 170, 90, 220], 1),
        ("aabaab", [0, 9, 9, 9, 9, 9], 3),
        ("abbbab", [0, 9, 9, 9, 9, 9], 1),
        ("a", [0], 1),
        ("", [], 1),
    ],
)
def test_cycles_of_events(names: str, ops: list[int], expected: int) -> None:
    assert cycle_length(list(names), ops) == expected


def test_neighbours_are_joined_only_where_they_are_close() -> None:
    def at(*starts: int) -> list[Event]:
        return [Event(start, start + 2) for start in starts]

    three = together(at(0, 3, 6, 100, 103, 106, 200, 203, 206))
    assert [(e.start_ns, e.end_ns) for e in three] == [(0, 8), (100, 108), (200, 208)]
    even = at(0, 100, 200, 300)
    assert together(even) == even
    # One long pause (an evaluation) must not make all others look close.
    paused = at(0, 100, 200, 5000, 5100)
    assert together(paused) == paused
    assert together([]) == []
    assert outermost([Event(0, 10), Event(2, 5), Event(10, 12)]) == [Event(0, 10), Event(10, 12)]


# Across lanes


def lane(label: str, lengths: dict[int, int], source: str = "nvtx_step") -> dict[str, object]:
    items = [
        {"index": k, "number": k, "start_ns": 0, "end_ns": ns, "kept": True, "flags": []}
        for k, ns in lengths.items()
    ]
    return {"lane": {"label": label}, "steps": {"source": source, "items": items}}


def test_lanes_that_agree_say_nothing() -> None:
    one, other = (lane(label, dict.fromkeys(range(5), ms(10))) for label in "ab")
    assert disagreements([one, other]) == []
    assert disagreements([one]) == []


def test_lanes_that_disagree() -> None:
    usual = lane("0000", dict.fromkeys(range(5), ms(10)))
    slow = lane("0001", dict.fromkeys(range(5), ms(11)))
    (note,) = disagreements([usual, slow])
    assert "0000" in note
    assert "11.000 ms on 0001" in note
    (note,) = disagreements([usual, lane("0001", dict.fromkeys(range(6), ms(10)))])
    assert "between 5 and 6 steps" in note
    (note,) = disagreements([usual, lane("0001", {0: ms(10)}, source="none")])
    assert "1 of 2 lanes" in note


def test_steps_whose_beginning_was_not_seen_are_not_compared() -> None:
    usual = lane("0000", dict.fromkeys(range(5), ms(10)))
    late = lane("0001", dict.fromkeys(range(5), ms(10)))
    late["steps"]["items"][0] |= {"end_ns": ms(1), "flags": ["leading_gap_unseen"]}  # type: ignore[index]
    assert disagreements([usual, late]) == []
