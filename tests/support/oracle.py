"""Brute force, straight from the definitions: windows, level 1, owners, gaps.

Nothing here knows SQL or the product's code. Time is cut at every edge of every op, so that within
one piece nothing begins or ends, and each piece is judged on its own. Quadratic, hence for small
traces only.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

Span = tuple[int, int]
Place = tuple[int, int]
BUCKETS = (
    "compute_comm_overlap",
    "compute_only",
    "graph_opaque",
    "exposed_comm",
    "exposed_mem",
    "idle",
)
PRIMARY_KINDS = ("kernel", "graph")
UVM_COPIES = (11, 12, 13)


@dataclass(frozen=True)
class Call:
    """A CUDA call on the host."""

    name: str
    start: int
    end: int
    thread: int


@dataclass(frozen=True)
class Op:
    """Device work of one lane. ``rank`` is the place of a compute kernel's class in the order."""

    start: int
    end: int
    kind: str
    stream: int
    comm: bool = False
    name: str = ""
    rank: int = 0
    launch: Call | None = None
    correlation: int | None = None
    copy_kind: int | None = None
    copy_name: str | None = None
    nbytes: int = 0
    node: int | None = None
    pageable: bool = False
    context: int = 1

    @property
    def place(self) -> Place:
        """The stream among those of all contexts; the lowest id decides a tie."""
        return (self.stream, self.context)

    @property
    def compute(self) -> bool:
        """Whether this is a compute kernel."""
        return self.kind == "kernel" and not self.comm

    def runs_at(self, at: int) -> bool:
        """Whether the op runs at an instant; one of length zero never does."""
        return self.start <= at < self.end


@dataclass(frozen=True)
class Range:
    """An annotation on a thread; ``end`` None = still open at the end of the capture."""

    text: str
    start: int
    end: int | None
    thread: int


@dataclass
class Window:
    """One step: its host range (or none) and its device window."""

    number: int | None
    host: Span | None
    start: int
    end: int
    unseen: bool = False
    reason: str | None = None

    @property
    def kept(self) -> bool:
        """Whether the step counts."""
        return self.reason is None


@dataclass
class Series:
    """The host ranges of a step series, in order; ``contiguous``: no gap between them."""

    ranges: list[tuple[int | None, int, int | None]] = field(default_factory=list)

    def hosts(self) -> tuple[list[tuple[int | None, Span]], int]:
        """The host range of each closed step, stretched over gaps, and how many were open."""
        closed = [(number, start, end) for number, start, end in self.ranges if end is not None]
        hosts: list[tuple[int | None, Span]] = []
        previous: int | None = None
        for number, start, end in closed:
            hosts.append((number, (start if previous is None else previous, end)))
            previous = end
        return hosts, len(self.ranges) - len(closed)


def union(spans: Iterable[Span]) -> int:
    """Total length of a union of intervals."""
    total, reach = 0, None
    for start, end in sorted(spans):
        low = start if reach is None else max(start, reach)
        if end > low:
            total += end - low
        reach = end if reach is None else max(reach, end)
    return total


def pieces(ops: Sequence[Op], start: int, end: int, cuts: Iterable[int] = ()) -> list[Span]:
    """Cut a window at every edge of every op."""
    edges = {start, end, *cuts}
    for op in ops:
        edges |= {op.start, op.end}
    inside = sorted(edge for edge in edges if start <= edge <= end)
    return list(itertools.pairwise(inside))


def bucket(running: Sequence[Op]) -> str:
    """The first state that is true, in the binding order."""
    compute = any(op.compute for op in running)
    comm = any(op.comm for op in running)
    if compute:
        return "compute_comm_overlap" if comm else "compute_only"
    if any(op.kind == "graph" for op in running):
        return "graph_opaque"
    if comm:
        return "exposed_comm"
    return "exposed_mem" if running else "idle"


def last_to_end(running: Iterable[Op]) -> Op:
    """The owner of an exposed instant: ends last, then earliest start, then lowest id."""
    return min(running, key=lambda op: (-op.end, op.start, op.stream, op.correlation or -1))


@dataclass
class Level1:
    """What the pieces of some windows add up to."""

    buckets: dict[str, int] = field(default_factory=lambda: dict.fromkeys(BUCKETS, 0))
    opaque: int = 0
    classes: dict[int, int] = field(default_factory=dict)
    comm_owner: dict[str, int] = field(default_factory=dict)
    mem_owner: dict[str, int] = field(default_factory=dict)

    def add(self, running: Sequence[Op], length: int) -> None:
        """Book one piece."""
        name = bucket(running)
        self.buckets[name] += length
        if name.startswith("compute"):
            best = min(op.rank for op in running if op.compute)
            self.classes[best] = self.classes.get(best, 0) + length
        elif name == "graph_opaque":
            self.opaque += length if any(op.comm for op in running) else 0
        elif name == "exposed_comm":
            _book(self.comm_owner, last_to_end(op for op in running if op.comm), length)
        elif name == "exposed_mem":
            _book(self.mem_owner, last_to_end(running), length)


def _book(table: dict[str, int], op: Op, length: int) -> None:
    key = op.copy_name or op.name
    table[key] = table.get(key, 0) + length


def level1(ops: Sequence[Op], windows: Iterable[Span]) -> Level1:
    """Book every piece of every window."""
    result = Level1()
    for start, end in windows:
        for low, high in pieces(ops, start, end):
            result.add([op for op in ops if op.runs_at(low)], high - low)
    return result


def gaps(ops: Sequence[Op], windows: Iterable[Span]) -> list[Span]:
    """Maximal idle of the lane, clipped to each window."""
    found: list[Span] = []
    for start, end in windows:
        opened: int | None = None
        for low, high in pieces(ops, start, end):
            if any(op.runs_at(low) for op in ops):
                opened = None
            elif opened is None:
                opened = low
                found.append((low, high))
            else:
                found[-1] = (opened, high)
    return found


def primary_stream(ops: Sequence[Op]) -> Place | None:
    """Largest union of compute kernels and graph rows; without any, of everything; lowest id."""
    for wanted in (lambda op: op.compute or op.kind == "graph", lambda _: True):
        work = {
            place: union((op.start, op.end) for op in ops if op.place == place and wanted(op))
            for place in {op.place for op in ops if wanted(op)}
        }
        if work:
            return min(work, key=lambda place: (-work[place], place))
    return None


def whole(ops: Sequence[Op]) -> Span | None:
    """First device op's start to last device op's end; zero-length ops set no edge."""
    long = [op for op in ops if op.end > op.start]
    return (min(op.start for op in long), max(op.end for op in long)) if long else None


def launched_in(host: Span) -> Callable[[Op], bool]:
    """Whether an op's launch call begins inside a host range."""
    return lambda op: op.launch is not None and host[0] <= op.launch.start < host[1]


def step_windows(ops: Sequence[Op], series: Series) -> list[Window]:
    """Tiles whose trailing edges are ends of primary-stream work."""
    place = primary_stream(ops)
    primary = [op for op in ops if op.place == place and op.end > op.start]
    hosts, _ = series.hosts()
    windows: list[Window] = []
    carried: int | None = None
    for number, (start, end) in hosts:
        host = (start if carried is None else carried, end)
        owned = [op for op in primary if launched_in(host)(op)]
        if not owned:
            carried = host[0]  # a range owning no primary-stream op joins the next
            continue
        carried = None
        windows.append(Window(number, host, 0, max(op.end for op in owned)))
    if windows:
        _leading_edge(ops, primary, windows)
        _drop(ops, windows)
    return windows


def _leading_edge(ops: Sequence[Op], primary: Sequence[Op], windows: list[Window]) -> None:
    first = windows[0]
    assert first.host is not None
    begins = first.host[0]
    before = [op.end for op in primary if op.launch is not None and op.launch.start < begins]
    if before:
        first.start = max(before)
    else:
        owned = filter(launched_in(first.host), ops)
        first.start = min(op.start for op in owned if op.end > op.start)
        first.unseen = True
    for left, right in itertools.pairwise(windows):
        right.start = left.end


def _drop(ops: Sequence[Op], windows: list[Window]) -> None:
    if windows[0].unseen and len(windows) - 1 >= 3:
        windows[0].reason = "leading_gap_unseen"
    kept = [window for window in windows if window.kept]
    half_time = median(window.end - window.start for window in kept) / 2
    counts = [_launched(ops, window) for window in kept]
    for window, count in zip(kept, counts, strict=True):
        if window.end - window.start < half_time or count < median(counts) / 2:
            window.reason = "fragment"


def _launched(ops: Sequence[Op], window: Window) -> int:
    assert window.host is not None
    return sum(op.end > op.start for op in filter(launched_in(window.host), ops))


def owns(window: Window, op: Op) -> bool:
    """By the launch call; without one, or without host ranges, by device start."""
    if op.launch is not None and window.host is not None:
        return launched_in(window.host)(op)
    return window.start <= op.start < window.end
