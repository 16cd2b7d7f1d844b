"""Step assignment against brute force: random hosts, streams and queues, on a coarse grid."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.support.step_lane import AUTOGRAD, COMM, MAIN, PRIMARY, StepLane
from tests.support.step_oracle import Op, Step, assign, judge

if TYPE_CHECKING:
    from nsysflow.analyse.windows import Steps

SHAPES = ("plain", "gaps", "optimizer", "eval", "empty", "late")


def draw(seed: int) -> tuple[StepLane, list[Op], list[tuple[int, int]], dict[int, str]]:
    """A lane, its ops, its host ranges, and what disturbs which of them."""
    rng = Random(seed)  # noqa: S311 - repeatable
    shape, unit = SHAPES[seed % len(SHAPES)], rng.choice((1, 7, 1000))
    lane, ops, ranges, disturbed = StepLane(), [], [], {}
    now, busy = 10 * unit, {PRIMARY: 0, COMM: 0}

    def launch(count: int) -> None:
        nonlocal now
        for _ in range(count):
            stream = rng.choices((PRIMARY, COMM), (4, 1))[0]
            begin = max(now + rng.randint(0, 6) * unit, busy[stream])
            end = begin + (0 if rng.random() < 0.05 else rng.randint(1, 9) * unit)
            busy[stream] = end
            at = None if stream == COMM and rng.random() < 0.1 else now
            thread = rng.choice((MAIN, AUTOGRAD))
            lane.kernel("gemm", begin, end, kind="gemm", launch=at, stream=stream, thread=thread)
            ops.append(Op(begin, end, stream == PRIMARY, at))
            now += rng.randint(1, 3) * unit

    if shape != "late":
        launch(3)
    now += unit
    for number in range(rng.randint(3, 8)):
        begin = now
        if not (shape == "empty" and number == 2):
            launch(rng.randint(4, 12))
        if shape == "eval" and rng.random() < 0.3:
            lane.range("evaluate", now, now + unit)
            now += unit
            disturbed[number] = "eval"
        now += unit
        text = "Optimizer.step#AdamW.step" if shape == "optimizer" else f"step {number}"
        start = now - unit if shape == "optimizer" else begin
        lane.range(text, start, now)
        ranges.append((start, now))
        if shape in {"gaps", "optimizer"}:
            now += 2 * unit
            launch(rng.randint(0, 3))
            now += unit
    return lane, ops, ranges, disturbed


def found(steps: Steps) -> list[Step]:
    return [
        Step(
            (w.host_start_ns or 0, w.host_end_ns or 0),
            (w.start_ns, w.end_ns),
            w.ops,
            "leading_gap_unseen" in w.flags,
            w.drop,
        )
        for w in steps.windows
    ]


@pytest.mark.parametrize("seed", range(120))
def test_steps_equal_brute_force(seed: int) -> None:
    lane, ops, ranges, disturbed = draw(seed)
    optimizer = SHAPES[seed % len(SHAPES)] == "optimizer"
    expected = assign(ops, ranges, ends_only=optimizer)
    steps = lane.steps()
    if not expected:
        assert steps.source == "none"
        return
    judge(expected, disturbed)
    assert steps.source == ("optimizer_range" if optimizer else "nvtx_step")
    assert found(steps) == expected


def test_the_shapes_are_drawn() -> None:
    """Every rule is met by some seed, or this file would prove little."""
    reasons: set[str | None] = set()
    joined = 0
    for seed in range(120):
        _, ops, ranges, disturbed = draw(seed)
        steps = assign(ops, ranges, ends_only=SHAPES[seed % len(SHAPES)] == "optimizer")
        joined += SHAPES[seed % len(SHAPES)] == "empty" and len(steps) < len(ranges)
        judge(steps, disturbed)
        reasons |= {step.reason for step in steps}
    assert reasons == {None, "eval", "fragment", "leading_gap_unseen"}
    assert joined
