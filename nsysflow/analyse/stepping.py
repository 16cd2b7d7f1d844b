"""Choose the windows of a lane: the user's time, its steps, or the whole capture."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from nsysflow.analyse.steps import find_series
from nsysflow.analyse.windows import Steps, between, keep_or_drop, step_windows, whole_capture
from nsysflow.analyse.workspace import Row, Workspace, slice_shift
from nsysflow.errors import UsageError
from nsysflow.settings import Settings

NS = 1_000_000_000


@dataclass(frozen=True)
class Device:
    """A lane before its windows: process, row of lane_span, (context, stream) of its primary."""

    process: int
    span: Row
    primary: tuple[int | None, int | None]


def choose_steps(
    work: Workspace, device: Device, settings: Settings, capture: dict[str, Any]
) -> Steps:
    """Return the windows to measure, and which of them count.

    Raises:
        UsageError: the user's time holds no device work of this lane.
    """
    first, last = _capture_span(device.span, capture)
    shift = slice_shift(last - first)
    series = find_series(work, device.process, settings, shift)
    steps = None
    if series is not None:
        by_start = not device.span["launched"]
        steps = step_windows(work, series, device.primary, shift, by_start)
    if steps is None:
        steps = whole_capture(device.span, _no_steps(settings))
    else:
        steps = keep_or_drop(steps)
    if settings.window_from_s is None and settings.window_to_s is None:
        return steps
    start, end, note = _chosen_time(settings, device.span, first, last)
    return between(steps, start, end, note)


def _capture_span(span: Row, capture: dict[str, Any]) -> tuple[int, int]:
    starts = [t for t in (span["start_ns"], capture.get("start_ns")) if t is not None]
    ends = [t for t in (span["end_ns"], capture.get("end_ns")) if t is not None]
    return min(starts), max(ends)


def _no_steps(settings: Settings) -> str | None:
    if settings.step_range is None:
        return None
    return "no NVTX range of this process that owns device work fits --step-range"


def _chosen_time(
    settings: Settings, span: Row, first: int, last: int
) -> tuple[int, int, str | None]:
    asked_from = first if settings.window_from_s is None else round(settings.window_from_s * NS)
    asked_to = last if settings.window_to_s is None else round(settings.window_to_s * NS)
    start, end = max(first, asked_from), min(last, asked_to)
    if end <= start or end <= span["start_ns"] or start >= span["end_ns"]:
        work_from, work_to = span["start_ns"] / NS, span["end_ns"] / NS
        raise UsageError(
            f"no device work between --from {asked_from / NS:g} and --to {asked_to / NS:g} s",
            hint=f"device work runs from {work_from:.6f} to {work_to:.6f} s",
        )
    if (start, end) == (asked_from, asked_to):
        return start, end, None
    note = f"the chosen time was cut to the capture: {start / NS:.6f} to {end / NS:.6f} s"
    return start, end, note
