"""Attribute launches and waits to NVTX ranges, and count the ranges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nsysflow.analyse.coverage import Flags
from nsysflow.analyse.crossing import Crossed, beyond, shared
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.nesting import OUTSIDE, Ints, Paths, Thread
from nsysflow.analyse.ops import NEVER, columns
from nsysflow.analyse.path_work import Placed, keep_work, sums
from nsysflow.analyse.thread_ranges import looking_ahead, thread_ranges
from nsysflow.analyse.workspace import Row, Workspace

_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Annotated:
    """The place in the code of each op of the lane, in their order.

    ``asked`` are the ops of the kept steps whose launch was recorded; ``path`` is -1 outside every
    range, and below the number of ``paths``.
    """

    path: Ints
    asked: Flags
    paths: int


@dataclass
class _Points:
    """Launches and waits of one thread by time: ``what`` is the place of an op, or -1 - a call."""

    at: Ints
    what: Ints


class Annotation:
    """Paths of a lane's process, with counts per path and the path of each point asked for."""

    def __init__(self, work: Workspace, facts: Facts) -> None:
        """Number the names of the process's ranges, and sort launches and waits by thread."""
        self._work = work
        self._facts = facts
        self.paths = Paths()
        names = work.arrow("nvtx_name", process=facts.process)
        work.keep("nvtx_name", names)
        keys = _key(names["name_id"].to_numpy(), names["domain"].to_numpy())
        self._order = np.argsort(keys, kind="stable")
        self._keys = keys[self._order]
        self._places = names["place"].to_numpy()[self._order]
        self._counts: dict[str, list[Ints]] = {"path": [], "count": [], "open": [], "host_ns": []}
        launch = columns(work, "launch_thread", "launch_start_ns")
        owned = work.kept("op_step")["owned"].to_numpy()
        self._asked = owned & (launch["launch_thread"] != NEVER)
        self._points = _by_thread(work, launch, self._asked)
        del launch, owned
        self._path = np.full(len(facts.ops), OUTSIDE, np.int64)
        self._calls: list[tuple[Ints, Ints]] = []
        self._crossed: dict[int, list[Crossed]] = {}
        self._kept = None if facts.whole else _kept_ranges(facts)

    def run(self) -> Annotated:
        """Walk every annotated thread, the stepping one first: helpers hang below its ranges."""
        threads = self._work.rows("nvtx_thread", "stages", process=self._facts.process)
        launching = {row["thread"]: row["launches"] for row in threads}
        main = _main_thread(threads, self._facts)
        helpers = [t for t in sorted(launching) if launching[t] and t != main and main is not None]
        loose = [t for t in sorted(self._points) if t not in launching]
        starts = {thread: self._starts(thread) for thread in helpers}
        asked = [*starts.values(), *(self._of(thread).at for thread in (*helpers, *loose))]
        above = self._walk_main(main, asked)
        for thread in sorted(launching):
            if thread != main and thread not in helpers:
                self._walk(thread)
        for place, thread in enumerate(helpers):
            self._walk(thread, above[place], above[len(helpers) + place])
        for thread, found in zip(loose, above[2 * len(helpers) :], strict=True):
            self._settle(self._of(thread), found)
        self._keep(self._shared(main))
        return Annotated(self._path, self._asked, len(self.paths))

    def places(self, name_ids: Ints, domains: Ints) -> Ints:
        """Return the number of each text in its domain."""
        found: Ints = self._places[np.searchsorted(self._keys, _key(name_ids, domains))]
        return found

    def chunks(self, thread: int) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
        """Yield (starts, ends, names, own) of a thread; an open range ends before it starts."""
        for starts, ends, name_ids, domains, own in self._ranges(thread):
            yield starts, ends, self.places(name_ids, domains), own.astype(bool)

    def _ranges(self, thread: int) -> Iterator[tuple[Ints, ...]]:
        return thread_ranges(self._work, self._facts.process, thread)

    def _starts(self, thread: int) -> Ints:
        return np.concatenate([_NONE, *(chunk[0] for chunk in self._ranges(thread))])

    def _of(self, thread: int) -> _Points:
        return self._points.get(thread, _Points(_NONE, _NONE))

    def _walk_main(self, main: int | None, asked: list[Ints]) -> list[Ints]:
        """Settle the stepping thread's points; return its path at the times that others ask about.

        Its ranges are read once, however many threads help.
        """
        if main is None:
            return [_outside(times) for times in asked]
        points = self._of(main)
        if not any(map(len, asked)):
            self._walk(main)
            return [_NONE for _ in asked]
        times = np.concatenate([points.at, *asked])
        order = np.argsort(times, kind="stable")
        times = times[order]
        found = np.empty(len(times), np.int64)
        found[order] = _answer(self._settled(main, None), times)
        own, *others = np.split(found, np.cumsum([len(points.at), *map(len, asked)])[:-1])
        self._settle(points, own)
        return others

    def _walk(self, thread: int, roots: Ints | None = None, above: Ints | None = None) -> None:
        """Settle the points of a thread; outside its ranges they are where ``above`` says."""
        points = self._of(thread)
        found = _answer(self._settled(thread, roots), points.at)
        self._settle(points, found if above is None else np.where(found == OUTSIDE, above, found))

    def _settle(self, points: _Points, found: Ints) -> None:
        is_op = points.what >= 0
        self._path[points.what[is_op]] = found[is_op]
        inside = ~is_op & (found >= 0)
        self._calls.append((-1 - points.what[inside], found[inside]))

    def _settled(self, thread: int, roots: Ints | None) -> Iterator[tuple[Thread, int | None]]:
        """Walk a thread, counting its ranges; yield the walker and up to when it can be asked."""
        walker, position = Thread(self.paths), 0
        self._crossed[thread] = walker.crossed
        for (starts, ends, names, own), limit in looking_ahead(self.chunks(thread)):
            under = _outside(starts) if roots is None else roots[position : position + len(starts)]
            position += len(starts)
            nests = (ends >= starts) & own
            path = np.empty(len(starts), np.int64)
            some = (starts[nests], ends[nests], names[nests], under[nests])
            path[nests] = walker.add(*some, since=int(starts[0]))
            path[~nests] = self.paths.children(under[~nests], names[~nests])
            self._count(path, starts, ends)
            yield walker, limit

    def _count(self, path: Ints, starts: Ints, ends: Ints) -> None:
        owned = _inside(self._kept, starts)
        path, lengths = path[owned], (ends - starts)[owned]
        closed = lengths >= 0
        distinct, where = np.unique(path, return_inverse=True)
        size = len(distinct)
        count = np.bincount(where[closed], minlength=size)
        self._counts["path"].append(distinct)
        self._counts["count"].append(count)
        self._counts["open"].append(np.bincount(where[~closed], minlength=size))
        self._counts["host_ns"].append(sums(where[closed], lengths[closed], size))

    def _shared(self, main: int | None) -> tuple[Ints, Ints]:
        """Return (op, path) of what was also launched in ranges that the op's own one crosses.

        What helpers launch at that time is the main thread's too.
        """
        pairs = []
        for thread, points in self._points.items():
            found = self._crossed.get(thread, [])
            if main is not None and thread != main:
                found = [*found, *self._crossed.get(main, [])]
            if found:
                pairs.append(shared(points.at, points.what, found))
        if not pairs:
            return _NONE, _NONE
        op, path = (np.concatenate(part) for part in zip(*pairs, strict=True))
        return beyond(op, path, self._path, np.array(self.paths.parent, np.int64))

    def _keep(self, also: tuple[Ints, Ints]) -> None:
        counts = {name: np.concatenate([_NONE, *parts]) for name, parts in self._counts.items()}
        self._work.keep("path_counted", pa.table(counts))
        parent = np.array(self.paths.parent, np.int64)
        name = np.array(self.paths.name, np.int64)
        path = np.arange(len(parent), dtype=np.int64)
        self._work.keep("path", pa.table({"path": path, "parent": parent, "place": name}))
        self._work.keep("path_step", self._steps(parent))
        calls = np.concatenate([_NONE, *(call for call, _ in self._calls)])
        found = np.concatenate([_NONE, *(path for _, path in self._calls)])
        self._work.keep("call_found", pa.table({"call": calls, "path": found}))
        keep_work(self._work, self._facts, Placed(self._asked, self._path, *also), parent)
        steps = self._facts.steps
        self._work.table("nvtx_place", source=steps.source, series=steps.pattern)
        for stem in ("path_name", "path_count", "call_path", "path_work"):
            self._work.table(stem)

    @staticmethod
    def _steps(parent: Ints) -> pa.Table:
        """Return (path, ancestor) for every path and everything above it, itself included."""
        path = np.arange(len(parent), dtype=np.int64)
        ancestor = path.copy()
        pairs = []
        while len(path):
            pairs.append((path, ancestor))
            above = parent[ancestor]
            path, ancestor = path[above >= 0], above[above >= 0]
        paths = np.concatenate([p for p, _ in pairs]) if pairs else np.empty(0, np.int64)
        above = np.concatenate([a for _, a in pairs]) if pairs else np.empty(0, np.int64)
        return pa.table({"path": paths, "ancestor": above})


def _outside(times: Ints) -> Ints:
    return np.full(len(times), OUTSIDE, np.int64)


def _answer(chunks: Iterator[tuple[Thread, int | None]], times: Ints) -> Ints:
    """Return the path at each of ``times`` (ascending), asking each chunk about its own stretch."""
    found = _outside(times)
    position = 0
    for walker, limit in chunks:
        end = len(times) if limit is None else int(np.searchsorted(times, limit))
        found[position:end] = walker.at(times[position:end])
        position = end
    return found


def _by_thread(work: Workspace, launch: dict[str, Ints], asked: Flags) -> dict[int, _Points]:
    """Return the launches asked for and the waits of each thread, by time."""
    call = work.kept("blocking_call", "call", "thread", "start_ns")
    number, thread, start = (column.to_numpy() for column in call.columns)
    op = np.flatnonzero(asked)
    at = np.concatenate([launch["launch_start_ns"][op], start])
    whose = np.concatenate([launch["launch_thread"][op], thread])
    what = np.concatenate([op, -1 - number])
    order = np.argsort(at, kind="stable")
    order = order[np.argsort(whose[order], kind="stable")]
    threads, first = np.unique(whose[order], return_index=True)
    parts = np.split(order, first[1:]) if len(threads) else []
    return {int(t): _Points(at[part], what[part]) for t, part in zip(threads, parts, strict=True)}


def _key(name_ids: Ints, domains: Ints) -> Ints:
    # Text ids are row numbers or 63-bit hashes; domains are small numbers of the process.
    return (domains << 40) ^ name_ids


def _main_thread(threads: list[Row], facts: Facts) -> int | None:
    """Return the thread whose ranges the others work for, None where it cannot be told.

    That of the steps, else the process's first, else the only one that may be: a worker process may
    train on any thread.
    """
    known = [int(row["thread"]) for row in threads]
    main = facts.steps.thread
    if main in known:
        return main
    pid = facts.process & 0xFFFFFF
    first = next((thread for thread in known if thread & 0xFFFFFF == pid), None)
    if first is not None:
        return first
    able = [row for row in threads if not row["helper"]]
    able = [row for row in able if row["launches"]] or able
    return int(able[0]["thread"]) if len(able) == 1 else None


def _kept_ranges(facts: Facts) -> tuple[Ints, Ints]:
    starts, ends = zip(*(window.host for window in facts.steps.kept), strict=True)
    return np.array(starts, np.int64), np.array(ends, np.int64)


def _inside(kept: tuple[Ints, Ints] | None, times: Ints) -> npt.NDArray[np.bool_]:
    if kept is None:
        return np.ones(len(times), bool)
    starts, ends = kept
    where = np.searchsorted(starts, times, side="right") - 1
    return (where >= 0) & (times < ends[where])
