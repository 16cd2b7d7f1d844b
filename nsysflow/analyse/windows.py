"""Turn the times of steps into device windows that tile the time line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from nsysflow.analyse.steps import OPTIMIZER, SOURCES, HostStep, Series, put_ranges
from nsysflow.analyse.workspace import Row, Workspace

NONE_CONFIDENCE = 0.1


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
    optimizer_ops: int = 0
    drop: str | None = None
    outlier: bool = False
    flags: tuple[str, ...] = ()

    @property
    def kept(self) -> bool:
        """Whether the step counts in every sum."""
        return self.drop is None

    @property
    def host(self) -> tuple[int, int]:
        """When the host asked for it; the device's own time where that is not known."""
        start = self.start_ns if self.host_start_ns is None else self.host_start_ns
        return start, self.end_ns if self.host_end_ns is None else self.host_end_ns

    @property
    def length_ns(self) -> int:
        """Length of the window."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True)
class Steps:
    """The windows of a lane. ``unseen`` steps have no window: cut by the capture, or empty.

    ``amortised`` are {kind, count, ns_each} of what happens only in some steps; ``chosen``: the
    one window is the user's ``--from/--to``.
    """

    source: str
    pattern: str | None
    confidence: float
    windows: tuple[Window, ...]
    unseen: tuple[tuple[int, int | None, str], ...] = ()
    note: str | None = None
    by_start: bool = False
    thread: int | None = None
    amortised: tuple[dict[str, Any], ...] = ()
    chosen: bool = False

    @property
    def kept(self) -> tuple[Window, ...]:
        """The windows that count."""
        return tuple(window for window in self.windows if window.kept)

    def noting(self, *notes: str | None) -> Steps:
        """Add sentences to the note."""
        told = [note for note in (self.note, *notes) if note]
        return replace(self, note="; ".join(told) or None)

    def capped(self, most: float) -> Steps:
        """Trust the steps no further than ``most``."""
        return replace(self, confidence=min(self.confidence, most))


def whole_capture(span: Row) -> Steps:
    """Return the one window from the first device start to the last device end."""
    window = Window(0, None, span["start_ns"], span["end_ns"], ops=span["ops"])
    return Steps("none", None, NONE_CONFIDENCE, (window,))


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
    work.view("lane_launch", context=context, stream=stream, by_start=by_start, device=False)
    edges = _edges(work, series.hosts(), shift)
    if not any(edge["last_end_ns"] is not None for edge in edges.values()):
        return None
    return _tile(work, series, edges, by_start)


def _edges(work: Workspace, steps: Sequence[HostStep], shift: int) -> dict[int, Row]:
    put_ranges(work, [steps])
    work.table("host_range_bucket", shift=shift)
    rows = work.rows("step_edge", "stages", shift=shift, optimizer=OPTIMIZER)
    return {row["step"]: row for row in rows}


@dataclass
class _Tiling:
    """What is known of the step that is being put together."""

    index: int
    start: int | None
    host_start: int | None = None
    ops: int = 0
    optimizer_ops: int = 0
    first_op: int | None = None

    def add(self, edge: Row | None) -> None:
        """Take in what one host range asked for."""
        if edge is not None:
            self.ops += edge["ops"]
            self.optimizer_ops += edge["optimizer_ops"]
            first = edge["first_start_ns"]
            self.first_op = first if self.first_op is None else min(self.first_op, first)

    def close(self, step: HostStep, end: int) -> Window:
        """Return the step's window, and go on to the next step."""
        assert self.start is not None  # noqa: S101 - a step that owns an op has a first one
        window = Window(
            self.index, step.number, self.start, end, self.host_start, step.end_ns,
            self.ops, self.optimizer_ops, drop="open" if step.unclosed else None,
        )  # fmt: skip
        self.index, self.start, self.host_start = self.index + 1, end, None
        self.ops, self.optimizer_ops, self.first_op = 0, 0, None
        return window


def _tile(work: Workspace, series: Series, edges: dict[int, Row], by_start: bool) -> Steps:
    hosts = series.hosts()
    last = max(step.end_ns if step.end_ns is not None else step.start_ns for step in hosts)
    edge = work.row("first_edge", host_start_ns=hosts[0].start_ns, host_end_ns=last)
    unseen = [(0, hosts[0].number if series.partial_before == 0 else None, "partial")]
    unseen = unseen[: series.partial_before]
    tiling = _Tiling(series.partial_before, edge["last_end_ns"])
    windows: list[Window] = []
    for k, step in enumerate(hosts):
        tiling.host_start = step.start_ns if tiling.host_start is None else tiling.host_start
        tiling.add(edges.get(k))
        if step.end_ns is None:
            unseen.append((tiling.index, step.number, series.unfinished))
            tiling.index, tiling.host_start = tiling.index + 1, None
            continue
        end = edges[k]["last_end_ns"] if k in edges else None
        if tiling.start is None and end is not None:
            tiling.start = tiling.first_op
        # What owns nothing on the primary stream belongs to the step after it.
        if end is not None and tiling.start is not None and end > tiling.start:
            windows.append(tiling.close(step, end))
    if tiling.host_start is not None:
        unseen.append((tiling.index, hosts[-1].number, "no device work"))
    elif series.ends_only and edge["after_ops"]:
        unseen.append((tiling.index, None, "partial"))
    if windows and edge["last_end_ns"] is None:
        windows[0] = replace(windows[0], flags=("leading_gap_unseen",))
    return Steps(
        series.source, series.pattern, series.confidence, tuple(windows), tuple(unseen),
        by_start=by_start, thread=series.thread,
    )  # fmt: skip


def device_windows(
    work: Workspace,
    source: str,
    ends: Sequence[int],
    primary: tuple[int | None, int | None],
    shift: int,
) -> Steps:
    """Return windows between device instants that end steps; what they hold starts inside.

    Nobody saw where the first step began, so what lies before the first end is cut.
    """
    context, stream = primary
    work.view("lane_launch", context=context, stream=stream, by_start=True, device=True)
    steps = [HostStep(None, start, end) for start, end in pairwise(ends)]
    edges = _edges(work, steps, shift)
    windows = [
        Window(
            k + 1,
            None,
            step.start_ns,
            ends[k + 1],
            ops=edges[k]["ops"],
            optimizer_ops=edges[k]["optimizer_ops"],
        )
        for k, step in enumerate(steps)
        if k in edges
    ]
    after = work.row("first_edge", host_start_ns=ends[0], host_end_ns=ends[-1])["after_ops"]
    unseen = [(0, None, "partial"), *([(len(ends), None, "partial")] if after else [])]
    return Steps(source, None, SOURCES[source], tuple(windows), tuple(unseen), by_start=True)


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
    inside = replace(steps, windows=windows)
    if steps.source != "none" and inside.kept:
        return inside.noting(note)
    window = Window(0, None, start_ns, end_ns)
    return Steps("none", None, NONE_CONFIDENCE, (window,), note=note, chosen=True)
