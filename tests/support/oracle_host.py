"""Brute force for the host side: who may claim a gap, and which ranges own which work."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.oracle import UVM_COPIES, Call, Op, Place, Range, Span, union

if TYPE_CHECKING:
    from collections.abc import Sequence

SHADOW_NS = 5_000
SYNCS = ("cudaStreamSynchronize_v3020", "cudaDeviceSynchronize_v3020")
BLOCKING = {
    *SYNCS,
    "cudaEventSynchronize_v3020",
    "cuCtxSynchronize",
    "cudaMemcpy_v3020",
}


@dataclass(frozen=True)
class Cut:
    """A gap cut by the launch of the op that ends it: host-late, launch latency, queued."""

    host: Span
    latency: Span
    queued: Span
    thread: int | None
    matched: bool


def ender(ops: Sequence[Op], gap: Span, primary: Place | None) -> Op | None:
    """The op that ends a gap; a unified-memory migration gives way to the next launched op."""
    starting = [op for op in ops if op.start == gap[1] and op.end > op.start]
    starting.sort(key=lambda op: (op.place != primary, op.end, op.stream, op.correlation or -1))
    for op in starting:
        if op.copy_kind not in UVM_COPIES:
            return op
    later = [op for op in ops if op.start >= gap[1] and op.launch and op.end > op.start]
    return min(
        later,
        key=lambda op: (op.start, op.place != primary, op.end, op.stream, op.correlation or -1),
        default=None,
    )


def cut(ops: Sequence[Op], gap: Span, primary: Place | None) -> Cut:
    """Exact: the three parts tile the gap."""
    g0, g1 = gap
    op = ender(ops, gap, primary)
    launch = None if op is None else op.launch
    if launch is None:
        earlier = [o.launch for o in ops if o.launch is not None and o.launch.start <= g1]
        last = max(earlier, key=lambda call: call.start, default=None)
        return Cut(gap, (g1, g1), (g1, g1), None if last is None else last.thread, matched=False)
    late = min(max(launch.start, g0), g1)
    if launch.start >= g0:
        return Cut((g0, late), (late, g1), (g1, g1), launch.thread, matched=True)
    queued = max(g0, min(launch.end, g1))
    return Cut((g0, g0), (g0, queued), (queued, g1), launch.thread, matched=True)


@dataclass
class Host:
    """What the host of one process recorded; ``launchers`` are threads that start device work."""

    calls: Sequence[Call]
    user_ranges: Sequence[Range]
    launchers: set[int]

    def blocking(self, thread: int) -> list[Call]:
        """The blocking calls of a thread."""
        return [c for c in self.calls if c.thread == thread and c.name in BLOCKING]

    def silent(self, thread: int, at: int) -> bool:
        """Whether a thread is in no CUDA call."""
        return not any(c.thread == thread and c.start <= at < c.end for c in self.calls)

    def covering(self, thread: int, at: int) -> Call | None:
        """The blocking call of a thread that covers an instant; the latest start speaks."""
        inside = [call for call in self.blocking(thread) if call.start <= at < call.end]
        return max(inside, key=lambda call: (call.start, call.end), default=None)

    def shadow(self, thread: int, gap_start: int, at: int) -> Call | None:
        """The blocking call whose shadow an instant lies in."""
        near = [
            call
            for call in self.blocking(thread)
            if call.start <= gap_start <= call.end + SHADOW_NS and call.end <= at
        ]
        call = max(near, key=lambda call: (call.start, call.end), default=None)
        if call is None:
            return None
        for span in self.user_ranges:
            inside = span.start <= at and (span.end is None or at < span.end)
            if span.thread == thread and inside and span.start >= call.end:
                return None
        return call


def host_sync(
    ops: Sequence[Op], windows_gaps: Sequence[Span], primary: Place | None, host: Host
) -> dict[Call, int]:
    """Idle that each blocking call causes, capped by the call's own duration."""
    direct: dict[Call, int] = defaultdict(int)
    shadows: list[tuple[int, Call, int]] = []
    for gap in windows_gaps:
        parts = cut(ops, gap, primary)
        if parts.thread is None:
            continue
        for low, high in _instants(parts.host, gap[0], host):
            owner, is_shadow = _claim(host, parts.thread, gap[0], low)
            if owner is None:
                continue
            if is_shadow:
                shadows.append((low, owner, high - low))
            else:
                direct[owner] += high - low
    claimed = dict(direct)
    for _, call, length in sorted(shadows, key=lambda item: item[0]):
        left = max(0, call.end - call.start - claimed.get(call, 0))
        claimed[call] = claimed.get(call, 0) + min(length, left)
    return {call: ns for call, ns in claimed.items() if ns > 0}


def _instants(span: Span, gap_start: int, host: Host) -> list[Span]:
    edges = {*span, gap_start}
    for call in host.calls:
        edges |= {call.start, call.end}
    for user in host.user_ranges:
        edges |= {user.start, span[1] if user.end is None else user.end}
    inside = sorted(edge for edge in edges if span[0] <= edge <= span[1])
    return list(itertools.pairwise(inside))


def _claim(host: Host, thread: int, gap_start: int, at: int) -> tuple[Call | None, bool]:
    if call := host.covering(thread, at):
        return call, False
    others = sorted(host.launchers - {thread}) if host.silent(thread, at) else []
    for other in others:
        if call := host.covering(other, at):
            return call, False
    for candidate in [thread, *others]:
        if call := host.shadow(candidate, gap_start, at):
            return call, True
    return None, False


@dataclass
class PathRow:
    """What all ranges with one path add up to."""

    count: int = 0
    open: int = 0
    host_ns: int = 0
    projected_ns: int = 0
    work_ns: int = 0


def path_of(span: Range, ranges: Sequence[Range]) -> str:
    """The texts of a thread's ranges that enclose this one, outermost first.

    Numbers that vary between ranges are written N.
    """
    position = {id(other): index for index, other in enumerate(ranges)}
    enclosing = [
        other
        for other in ranges
        if other.thread == span.thread
        and position[id(other)] != position[id(span)]
        and _encloses(other, span)
    ]
    enclosing.sort(key=lambda other: (other.start, -(other.end or 1 << 62)))
    texts = [other.text for other in enclosing] + [span.text]
    return " / ".join(_shown(text, ranges) for text in texts)


def _shown(text: str, ranges: Sequence[Range]) -> str:
    general = re.sub(r"\d+", "N", text)
    same = {other.text for other in ranges if re.sub(r"\d+", "N", other.text) == general}
    return text if same == {text} else general


def _encloses(outer: Range, inner: Range) -> bool:
    outer_end, inner_end = outer.end or 1 << 62, inner.end or 1 << 62
    if (outer.start, outer_end) == (inner.start, inner_end):
        return False
    return outer.start <= inner.start and inner_end <= outer_end


def projections(
    ops: Sequence[Op], ranges: Sequence[Range], scope: Sequence[Range]
) -> dict[str, PathRow]:
    """Per path: counts, host time, and the union and sum of the device time its ranges launched.

    A thread without ranges of its own (autograd) launches on behalf of the annotated one.
    """
    annotated = {span.thread for span in ranges}
    rows: dict[str, PathRow] = defaultdict(PathRow)
    owned: dict[str, set[int]] = defaultdict(set)
    for span in scope:
        path = path_of(span, ranges)
        row = rows[path]
        if span.end is None:
            row.open += 1
            continue
        row.count += 1
        row.host_ns += span.end - span.start
        for index, op in enumerate(ops):
            call = op.launch
            if call is None or not span.start <= call.start < span.end:
                continue
            if call.thread == span.thread or call.thread not in annotated:
                owned[path].add(index)
    for path, indices in owned.items():
        rows[path].projected_ns = union((ops[i].start, ops[i].end) for i in indices)
        rows[path].work_ns = sum(ops[i].end - ops[i].start for i in indices)
    return dict(rows)
