"""Choose the windows of a lane: the user's time, its steps, or the whole capture."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from nsysflow.analyse import steps_device
from nsysflow.analyse.steps import Series
from nsysflow.analyse.steps_device import Kernels, Marks
from nsysflow.analyse.steps_keep import DISAGREE_CONFIDENCE, Happenings, keep_or_drop
from nsysflow.analyse.steps_ranges import Ranges
from nsysflow.analyse.windows import (
    Steps,
    between,
    device_windows,
    step_windows,
    whole_capture,
)
from nsysflow.analyse.workspace import Row, Workspace, slice_shift
from nsysflow.errors import UsageError
from nsysflow.settings import Settings
from nsysflow.shares import median_ns

NS = 1_000_000_000
# The user's own patterns, by the cause they stand for.
USER_PATTERNS = ("checkpoint", "eval", "loader", "logging")
ANNOTATED = ("user", "nvtx_step", "framework", "optimizer_range")
# Sources whose steps may be checked against where optimizer ranges end.
CHECKED = ("user", "nvtx_step", "framework")
AGREE = 0.02


@dataclass(frozen=True)
class Device:
    """A lane before its windows: process, row of lane_span, (context, stream) of its primary."""

    process: int
    span: Row
    primary: tuple[int | None, int | None]


def look_at_host(work: Workspace, process: int, lanes: tuple[int, int], settings: Settings) -> None:
    """Make the stages that tell what the host did besides launching: they need no windows.

    ``lanes`` are the first and last of the process.
    """
    given = dict(settings.cause_patterns)
    patterns = {f"user_{name}": given.get(name) for name in USER_PATTERNS}
    work.table("launching_thread", first_lane=lanes[0], last_lane=lanes[1])
    work.view("evidence_call", process=process)
    work.table("evidence_range", process=process, **patterns)
    work.table("evidence_overhead", process=process)
    work.table("evidence_sched", process=process)
    work.table("evidence_save")


UNFIT = "no NVTX range of this process that owns device work fits --step-range"
BEGUN = "no launch was recorded: a step owns the device work that began in its range"
OVERLAPPING = "the NVTX ranges that fit --step-range overlap each other"


def choose_steps(
    work: Workspace, device: Device, settings: Settings, capture: dict[str, Any]
) -> Steps:
    """Return the windows to measure, and which of them count.

    Raises:
        UsageError: the user's time holds no device work of this lane.
    """
    first, last = _capture_span(device.span, capture)
    shift = slice_shift(last - first)
    by_start = not device.span["launched"]
    ranges = Ranges(work, device.process, settings, shift, by_start)
    steps, kernels = _find(work, device, ranges, shift)
    if steps.source != "none":
        happenings = Happenings.of(work.arrow("step_event", process=device.process))
        steps = keep_or_drop(steps, happenings, kernels.next_end if kernels else None)
    if settings.step_range is not None and steps.source != "user":
        steps = steps.noting(OVERLAPPING if ranges.overlapping("user") else UNFIT)
    if settings.window_from_s is None and settings.window_to_s is None:
        return steps
    start, end, note = _chosen_time(settings, device.span, first, last)
    return between(steps, start, end, note)


def _find(
    work: Workspace, device: Device, ranges: Ranges, shift: int
) -> tuple[Steps, Kernels | None]:
    """Ask the sources in their order; each only if the ones above it know nothing.

    Where no launch was recorded, a range tells only what began meanwhile: but for the user's, what
    the device repeats tells more. The kernels come back too where they are all that tells the
    steps.
    """
    first = ANNOTATED[:1] if ranges.by_start else ANNOTATED
    if steps := _annotated(work, device, ranges, first):
        return steps, None
    if refused := ranges.refused():
        return whole_capture(device.span).noting(refused), None
    kernels = steps_device.read_kernels(work, device.primary)
    repeated = _by_device(work, device, kernels, shift)
    rest = ANNOTATED[len(first) :]
    if repeated.source == "none" and (steps := _annotated(work, device, ranges, rest)):
        return steps, None
    return repeated, kernels


def _annotated(
    work: Workspace, device: Device, ranges: Ranges, sources: Sequence[str]
) -> Steps | None:
    for source in sources:
        series = ranges.best(source)
        if series is None:
            continue
        steps = step_windows(work, series, device.primary, ranges.shift, ranges.by_start)
        if steps is not None and steps.windows:
            if source in CHECKED:
                steps = _checked(steps, series, ranges.optimizer_ends())
            return steps.capped(DISAGREE_CONFIDENCE).noting(BEGUN) if ranges.by_start else steps
    return None


def _checked(steps: Steps, series: Series, ends: list[int]) -> Steps:
    """Compare with the optimizer's cadence: as many calls in every step, or two opinions."""
    hosts = [host for host in series.hosts() if host.end_ns is not None]
    calls = [
        bisect_left(ends, host.end_ns or 0) - bisect_left(ends, host.start_ns) for host in hosts
    ]
    if not sum(calls):
        return steps
    usual, alike = Counter(calls).most_common(1)[0]
    if usual and alike >= (1 - AGREE) * len(calls) - 1:
        return steps
    ours = _period([host.end_ns or 0 for host in hosts])
    inside = [end for end in ends if hosts[0].start_ns <= end < (hosts[-1].end_ns or 0)]
    theirs = _period(inside)
    if ours is None or theirs is None or abs(ours - theirs) <= AGREE * ours:
        return steps
    steps = steps.noting(
        f"the step ranges repeat every {ours / 1e6:.3f} ms, the optimizer's every"
        f" {theirs / 1e6:.3f} ms: one of them is not the step"
    )
    # What the user calls a step is one.
    return steps if steps.source == "user" else steps.capped(DISAGREE_CONFIDENCE)


def _period(times: Sequence[int]) -> int | None:
    return median_ns([b - a for a, b in pairwise(times)])


def _by_device(work: Workspace, device: Device, kernels: Kernels, shift: int) -> Steps:
    marks: Marks | str | None = steps_device.optimizer_marks(kernels)
    if marks is None:
        marks = steps_device.collective_marks(work, device.process, kernels)
    if marks is None:
        marks = steps_device.sequence_marks(work, device.process, kernels)
    if not isinstance(marks, Marks):
        return whole_capture(device.span).noting(marks)
    steps = device_windows(work, marks.source, marks.ends, device.primary, shift)
    return steps.capped(marks.most).noting(marks.note)


def _capture_span(span: Row, capture: dict[str, Any]) -> tuple[int, int]:
    starts = [t for t in (span["start_ns"], capture.get("start_ns")) if t is not None]
    ends = [t for t in (span["end_ns"], capture.get("end_ns")) if t is not None]
    return min(starts), max(ends)


def _asked(settings: Settings) -> str:
    """Say which time the user chose, and no bound that was not given."""
    first, last = settings.window_from_s, settings.window_to_s
    if last is None:
        return f"after --from {first:g} s"
    if first is None:
        return f"before --to {last:g} s"
    return f"between --from {first:g} and --to {last:g} s"


def _chosen_time(
    settings: Settings, span: Row, first: int, last: int
) -> tuple[int, int, str | None]:
    asked_from = first if settings.window_from_s is None else round(settings.window_from_s * NS)
    asked_to = last if settings.window_to_s is None else round(settings.window_to_s * NS)
    start, end = max(first, asked_from), min(last, asked_to)
    if end <= start or end <= span["start_ns"] or start >= span["end_ns"]:
        work_from, work_to = span["start_ns"] / NS, span["end_ns"] / NS
        raise UsageError(
            f"no device work {_asked(settings)}",
            hint=f"device work runs from {work_from:.6f} to {work_to:.6f} s",
        )
    if (start, end) == (asked_from, asked_to):
        return start, end, None
    note = f"the chosen time was cut to the capture: {start / NS:.6f} to {end / NS:.6f} s"
    return start, end, note
