"""Attribute launches and waits to NVTX ranges, and count the ranges."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nsysflow.analyse.facts import Facts
from nsysflow.analyse.nesting import OUTSIDE, Ints, Paths, Thread
from nsysflow.analyse.workspace import Workspace

# Times may be negative: no small number can stand for a missing one.
NEVER = np.iinfo(np.int64).min


class Annotation:
    """Paths of a lane's process, with counts per path and the path of each point asked for."""

    def __init__(self, work: Workspace, facts: Facts) -> None:
        """Number the names of the process's ranges."""
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
        self._found: list[pa.Table] = []
        self._kept = _kept_ranges(facts)

    def run(self) -> None:
        """Walk every annotated thread, the stepping one first: helpers hang below its ranges."""
        threads = self._work.rows("nvtx_thread", "stages", process=self._facts.process)
        launching = {row["thread"]: row["launches"] for row in threads}
        main = _main_thread(list(launching), self._facts)
        helpers = _Helpers(self, main) if main is not None else None
        for thread in sorted(launching, key=lambda t: (t != main, t)):
            under = (
                helpers if helpers is not None and launching[thread] and thread != main else None
            )
            self._walk(thread, under)
        self._loose(set(launching), helpers)
        self._keep()

    def places(self, name_ids: Ints, domains: Ints) -> Ints:
        """Return the number of each text in its domain."""
        found: Ints = self._places[np.searchsorted(self._keys, _key(name_ids, domains))]
        return found

    def chunks(self, thread: int) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
        """Yield (starts, ends, names, own) of a thread; an open range ends before it starts."""
        reader = self._work.batches("thread_range", process=self._facts.process, thread=thread)
        for batch in reader:
            ends = batch.column("end_ns").fill_null(NEVER).to_numpy(zero_copy_only=False)
            names = self.places(
                batch.column("name_id").fill_null(-1).to_numpy(zero_copy_only=False),
                batch.column("domain").to_numpy(zero_copy_only=False),
            )
            own = batch.column("own").to_numpy(zero_copy_only=False)
            starts = batch.column("start_ns").to_numpy(zero_copy_only=False)
            if not len(starts):
                continue
            # A range without an end encloses nothing, or a forgotten pop would nest for ever.
            ends = np.maximum(ends, starts - 1)
            yield starts, ends, names, own

    def _walk(self, thread: int, helpers: _Helpers | None) -> None:
        points = self._work.arrow("path_point", thread=thread)
        times = points["at_ns"].to_numpy()
        roots = None
        if helpers is not None:
            starts = [chunk[0] for chunk in self.chunks(thread)]
            roots = helpers.at(np.concatenate(starts)) if starts else None
        found = _answer(self._settled(thread, roots), times)
        outside = np.flatnonzero(found == OUTSIDE)
        if helpers is not None and len(outside):
            found[outside] = helpers.at(times[outside])
        self._found.append(_with_path(points, found, thread))

    def _settled(self, thread: int, roots: Ints | None) -> Iterator[tuple[Thread, int | None]]:
        """Walk a thread, counting its ranges; yield the walker and up to when it can be asked."""
        walker, position = Thread(self.paths), 0
        for (starts, ends, names, own), limit in _looking_ahead(self.chunks(thread)):
            under = _top(starts) if roots is None else roots[position : position + len(starts)]
            position += len(starts)
            nests = (ends >= starts) & own
            path = np.empty(len(starts), np.int64)
            path[nests] = walker.add(starts[nests], ends[nests], names[nests], under[nests])
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
        host = np.zeros(size, np.int64)
        np.add.at(host, where[closed], lengths[closed])
        self._counts["path"].append(distinct)
        self._counts["count"].append(count)
        self._counts["open"].append(np.bincount(where[~closed], minlength=size))
        self._counts["host_ns"].append(host)

    def _loose(self, walked: set[int], helpers: _Helpers | None) -> None:
        """Attribute what was launched on threads that have no range of their own."""
        for row in self._work.rows("loose_thread", "stages"):
            if row["thread"] not in walked:
                points = self._work.arrow("path_point", thread=row["thread"])
                times = points["at_ns"].to_numpy()
                path = helpers.at(times) if helpers else np.full(len(times), OUTSIDE, np.int64)
                self._found.append(_with_path(points, path, row["thread"]))

    def _keep(self) -> None:
        counts = {
            name: np.concatenate(parts) if parts else np.empty(0, np.int64)
            for name, parts in self._counts.items()
        }
        self._work.keep(
            "path_counted", pa.table({k: pa.array(v, pa.int64()) for k, v in counts.items()})
        )
        parent = np.array(self.paths.parent, np.int64)
        name = np.array(self.paths.name, np.int64)
        path = np.arange(len(parent), dtype=np.int64)
        self._work.keep("path", pa.table({"path": path, "parent": parent, "place": name}))
        self._work.keep("path_step", self._steps(parent))
        self._work.keep("path_found", pa.concat_tables(self._found) if self._found else _NOTHING)
        steps = self._facts.steps
        self._work.table("nvtx_place", source=steps.source, series=steps.pattern)
        for stem in ("path_name", "path_count", "path_launch", "call_path", "path_op"):
            self._work.table(stem)
        self._work.table("path_work")
        self._work.table("path_union")

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


class _Helpers:
    """The stepping thread's ranges, for threads that launch on its behalf (autograd)."""

    def __init__(self, annotation: Annotation, thread: int) -> None:
        self._annotation = annotation
        self._thread = thread

    def at(self, times: Ints) -> Ints:
        """Return the path of the stepping thread at each time, in any order of times."""
        order = np.argsort(times, kind="stable")
        answer = np.empty(len(times), np.int64)
        answer[order] = _answer(self._settled(), times[order])
        return answer

    def _settled(self) -> Iterator[tuple[Thread, int | None]]:
        walker = Thread(self._annotation.paths)
        for (starts, ends, names, own), limit in _looking_ahead(
            self._annotation.chunks(self._thread)
        ):
            nests = (ends >= starts) & own
            walker.add(starts[nests], ends[nests], names[nests], _top(starts[nests]))
            yield walker, limit


def _top(ranges: Ints) -> Ints:
    return np.full(len(ranges), OUTSIDE, np.int64)


def _answer(chunks: Iterator[tuple[Thread, int | None]], times: Ints) -> Ints:
    """Return the path at each of ``times`` (ascending), asking each chunk about its own stretch."""
    found = _top(times)
    position = 0
    for walker, limit in chunks:
        end = len(times) if limit is None else int(np.searchsorted(times, limit))
        found[position:end] = walker.at(times[position:end])
        position = end
    return found


def _looking_ahead(
    chunks: Iterator[tuple[Ints, ...]],
) -> Iterator[tuple[tuple[Ints, ...], int | None]]:
    """Yield each chunk with the first start of the next: until then it knows every range."""
    held: tuple[Ints, ...] | None = None
    for chunk in chunks:
        if held is not None:
            yield held, int(chunk[0][0])
        held = chunk
    if held is not None:
        yield held, None


_NOTHING = pa.table(
    {
        name: pa.array([], pa.int64())
        for name in ("at_ns", "start_ns", "end_ns", "call", "name_id", "path", "thread")
    }
)


def _with_path(points: pa.Table, path: Ints, thread: int) -> pa.Table:
    threads = pa.array(np.full(len(path), thread, np.int64))
    return points.append_column("path", pa.array(path)).append_column("thread", threads)


def _key(name_ids: Ints, domains: Ints) -> Ints:
    # Text ids are row numbers or 63-bit hashes; domains are small numbers of the process.
    return (domains << 40) ^ name_ids


def _main_thread(threads: list[int], facts: Facts) -> int | None:
    main = facts.steps.thread
    if main in threads:
        return main
    pid = facts.process & 0xFFFFFF
    return next((thread for thread in threads if thread & 0xFFFFFF == pid), None)


def _kept_ranges(facts: Facts) -> tuple[Ints, Ints] | None:
    if facts.whole:
        return None
    ranges = [
        (
            w.start_ns if w.host_start_ns is None else w.host_start_ns,
            w.end_ns if w.host_end_ns is None else w.host_end_ns,
        )
        for w in facts.steps.kept
    ]
    starts, ends = zip(*ranges, strict=True)
    return np.array(starts, np.int64), np.array(ends, np.int64)


def _inside(kept: tuple[Ints, Ints] | None, times: Ints) -> npt.NDArray[np.bool_]:
    if kept is None:
        return np.ones(len(times), bool)
    starts, ends = kept
    where = np.searchsorted(starts, times, side="right") - 1
    return (where >= 0) & (times < ends[where])
