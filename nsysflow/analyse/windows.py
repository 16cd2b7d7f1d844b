"""Turn host ranges into device windows that tile the time line; keep or drop each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from nsysflow.analyse.steps import Series, put_ranges
from nsysflow.analyse.workspace import Row, Workspace
from nsysflow.shares import median_ns

NONE_CONFIDENCE = 0.1
LEAST_CONFIDENCE = 0.3
UNSEEN_LEADING_GAP = 0.7
# Steps that must remain before the first, whose leading gap was not seen, can be spared.
SPARE = 3


@dataclass(frozen=True)
class Window:
    """One step on the device: ``[start_ns, end_ns)``, and the host range that asked for it."""

    index: int
    number: int | None
    start_ns: int
    end_ns: int
    host_start_ns: int | None = None
    host_end_ns: int | None = None
    ops: int = 0
    drop: str | None = None
    outlier: bool = False
    flags: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether the step counts in every sum."""
        return self.drop is None

    @property
    def length_ns(self) -> int:
        """Length of the window."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Steps:
    """The windows of a lane. ``unseen`` steps have no window: cut by the capture, or empty."""

    source: str
    pattern: str | None
    confidence: float
    windows: tuple[Window, ...]
    unseen: tuple[tuple[int, int | None, str], ...] = ()
    note: str | None = None
    by_start: bool = False
    thread: int | None = None

    @property
    def kept(self) -> tuple[Window, ...]:
        """The windows that count."""
        return tuple(window for window in self.windows if window.kept)


def whole_capture(span: Row, note: str | None = None) -> Steps:
    """Return the one window from the first device start to the last device end."""
    window = Window(0, None, span["start_ns"], span["end_ns"], ops=span["ops"])
    return Steps("none", None, NONE_CONFIDENCE, (window,), note=note)


def step_windows(
    work: Workspace,
    series: Series,
    primary: tuple[int | None, int | None],
    shift: int,
    by_start: bool,
) -> Steps | None:
    """Return the windows of a series, or None if the primary stream did nothing for any of them.

    A window ends with the last op on the primary stream whose launch began in the step's host
    range, and begins where the one before it ended, so that no instant is outside a window.
    """
    context, stream = primary
    work.view("lane_launch", context=context, stream=stream, by_start=by_start)
    put_ranges(work, [series.hosts()])
    work.table("host_range_bucket", shift=shift)
    edges = {row["step"]: row for row in work.rows("step_edge", "stages", shift=shift)}
    if not any(edge["last_end_ns"] is not None for edge in edges.values()):
        return None
    return _tile(work, series, edges, by_start)


def _tile(work: Workspace, series: Series, edges: dict[int, Row], by_start: bool) -> Steps:
    hosts = series.hosts()
    start = work.row("first_edge", host_start_ns=hosts[0].start_ns)["last_end_ns"]
    unseen_gap = start is None
    windows: list[Window] = []
    unseen: list[tuple[int, int | None, str]] = [(0, None, "partial")] * series.partial_before
    index, host_start, ops, first_op = series.partial_before, None, 0, None
    for k, step in enumerate(hosts):
        edge = edges.get(k)
        host_start = step.start_ns if host_start is None else host_start
        if edge is not None:
            ops += edge["ops"]
            first_op = (
                edge["first_start_ns"]
                if first_op is None
                else min(first_op, edge["first_start_ns"])
            )
        if step.end_ns is None:
            unseen.append((index, step.number, "open"))
            index, host_start = index + 1, None
            continue
        end = edge["last_end_ns"] if edge is not None else None
        if start is None and end is not None:
            start = first_op
        if end is None or start is None or end <= start:
            # It owns nothing on the primary stream: its host time belongs to the step after it.
            continue
        windows.append(Window(index, step.number, start, end, host_start, step.end_ns, ops))
        start, index, host_start, ops, first_op = end, index + 1, None, 0, None
    if host_start is not None:
        unseen.append((index, hosts[-1].number, "no device work"))
    if windows and unseen_gap:
        windows[0] = replace(windows[0], flags=("leading_gap_unseen",))
    return Steps(
        series.source,
        series.pattern,
        series.confidence,
        tuple(windows),
        tuple(unseen),
        by_start=by_start,
        thread=series.thread,
    )


def keep_or_drop(steps: Steps) -> Steps:
    """Drop what is not a whole steady step, mark outliers, and say so in the confidence."""
    windows = list(steps.windows)
    confidence = steps.confidence
    if windows and "leading_gap_unseen" in windows[0].flags:
        if len(windows) > SPARE:
            windows[0] = replace(windows[0], drop="leading_gap_unseen")
        else:
            confidence *= UNSEEN_LEADING_GAP
    windows = _without_fragments(windows)
    if not any(window.kept for window in windows):
        windows = [replace(window, drop=None) for window in windows]
        confidence = min(confidence, LEAST_CONFIDENCE)
    return replace(steps, windows=tuple(_with_outliers(windows)), confidence=confidence)


def _without_fragments(windows: Sequence[Window]) -> list[Window]:
    kept = [window for window in windows if window.kept]
    half_time = (median_ns([window.length_ns for window in kept]) or 0) / 2
    half_ops = (median_ns([window.ops for window in kept]) or 0) / 2
    return [
        replace(window, drop="fragment")
        if window.kept and (window.length_ns < half_time or window.ops < half_ops)
        else window
        for window in windows
    ]


def _with_outliers(windows: Sequence[Window]) -> list[Window]:
    lengths = [window.length_ns for window in windows if window.kept]
    middle = median_ns(lengths) or 0
    spread = median_ns([abs(length - middle) for length in lengths]) or 0
    # 5 scaled median absolute deviations, and never less than 20 %.
    limit = middle + max(5 * 1.4826 * spread, 0.2 * middle)
    return [
        replace(window, outlier=True, flags=(*window.flags, "outlier"))
        if window.kept and window.length_ns > limit
        else window
        for window in windows
    ]


def regularity(steps: Steps) -> float:
    """Return how even the steps are in their number of ops: 1 for equal, never below 0.5."""
    counts = [window.ops for window in steps.kept]
    mean = sum(counts) / len(counts) if counts else 0
    if not mean:
        return 1.0
    deviation = math.sqrt(sum((count - mean) ** 2 for count in counts) / len(counts))
    return 1 - min(0.5, 5 * deviation / mean)


def between(steps: Steps, start_ns: int, end_ns: int, note: str | None) -> Steps:
    """Keep the whole steps inside ``[start_ns, end_ns)``; without one, that is the window."""
    windows = tuple(
        window
        if window.start_ns >= start_ns and window.end_ns <= end_ns
        else replace(window, drop="outside the chosen time")
        for window in steps.windows
    )
    inside = replace(steps, windows=windows, note=note)
    if steps.source != "none" and inside.kept:
        return inside
    return Steps("none", None, NONE_CONFIDENCE, (Window(0, None, start_ns, end_ns),), note=note)
