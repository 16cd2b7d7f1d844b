"""Idle time of the lane: each gap, the op that ends it, and whether the host had asked for it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Flags, Ints
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.intervals import Spans, overlaps
from nsysflow.analyse.ops import KINDS, NEVER, Ops, arrays, column, columns, nullable
from nsysflow.analyse.workspace import Workspace

FAR = np.iinfo(np.int64).max
NO_OP = -1
# A page migration is nobody's launch: the next op that was asked for tells what was waited for.
MIGRATIONS = (11, 13)
TO_DEVICE = 1
# Only a call too long to be only a launch is asked whether it was the first of its kernel.
LONG_CALL_NS = 1_000_000
# Gaps written together.
AT_ONCE = 100_000
# Columns of the next op.
LAUNCH = ("launch_thread", "launch_start_ns", "launch_end_ns")
NEXT = ("kind", "name_id", "copy_kind", "context", "stream")


@dataclass(frozen=True)
class Idle:
    """Stretches in which the lane does nothing; ``next`` is the place of the op that ends each.

    ``place`` numbers the ops with a duration among all, ``until`` is the running maximum of their
    ends. ``next`` is a place among them, -1 where the user's window ends beyond the last op.
    """

    start: Ints
    end: Ints
    next: Ints
    place: Ints
    op_start: Ints
    op_end: Ints
    until: Ints


def make_gaps(work: Workspace, facts: Facts, ops: Ops) -> None:
    """Make ``gap``: the idle stretches inside the kept windows, cut at their edges.

    Columns: gap, step; ``[start_ns, end_ns)`` in three: the host is late until ``host_until_ns``,
    the launching call runs until ``launch_until_ns``, then the op is queued; ``idle_start_ns`` and
    ``idle_end_ns``, the whole stretch, windows apart; ``queued_ns`` of the whole stretch; the
    launching ``thread`` (of an op without a recorded call the one that launched last before it),
    ``launch_recorded``, ``launch_start_ns``, ``long_call``; ``same_stream``: what ended as the gap
    began was on the stream of the next op, ``same_graph``: and both are nodes of one graph launch;
    ``first_launch``: a long call, and no kernel of that name was launched before in the process;
    ``next_kind`` (place in kernel, memcpy, memset, graph), ``next_name_id``, ``next_context``,
    ``next_stream``; ``next_to_device``: it copies from the host. NULL is unknown.
    """
    idle = _idle(facts, ops)
    chosen = _next_op(work, facts, idle)
    flags = _previous(work, idle, chosen)
    known = chosen >= 0
    at = np.where(known, idle.place[chosen], 0)
    stretch = Spans(idle.start, idle.end, idle.next)
    # A lane may have as many gaps as ops: what has served its turn makes room for the rest.
    del idle, chosen
    found = {name: np.where(known, column(work, name)[at], NEVER) for name in LAUNCH}
    found |= {f"next_{name}": np.where(known, column(work, name)[at], NEVER) for name in NEXT}
    found["thread"] = _likely_thread(work, stretch, found)
    flags["first_launch"] = _first_launch(work, facts, found)
    flags["next_to_device"] = found.pop("next_copy_kind") == TO_DEVICE
    del found["launch_thread"], known, at
    work.stream("gap", _rows(facts, stretch, found, flags))


def _rows(
    facts: Facts, idle: Spans, found: dict[str, Ints], flags: dict[str, Flags]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of ``gap``, some at a time: all columns at once would be the lane's most."""
    count = 0
    for low in range(0, len(idle) or 1, AT_ONCE):
        here = slice(low, low + AT_ONCE)
        of, window, part = overlaps(idle.take(here), facts.kept)
        some = part.length > 0
        at, window, mine = low + of[some], window[some], part.take(some)
        known = {name: values[at] for name, values in found.items()}
        yield pa.RecordBatch.from_pydict(
            {
                "gap": np.arange(count + 1, count + len(mine) + 1, dtype=np.int32),
                "step": facts.kept.of[window].astype(np.int32),
                **_cut(idle.take(at), mine, known),
                "thread": nullable(known["thread"]),
                "next_kind": nullable(known["next_kind"]).cast(pa.uint8()),
                "next_name_id": nullable(known["next_name_id"]),
                "next_context": nullable(known["next_context"]),
                "next_stream": nullable(known["next_stream"]),
                **{name: flag[at] for name, flag in flags.items()},
            }
        )
        count += len(mine)


def _idle(facts: Facts, ops: Ops) -> Idle:
    place = np.flatnonzero(ops.long)
    all_long = len(place) == len(ops)
    start, end = (ops.start, ops.end) if all_long else (ops.start[place], ops.end[place])
    until = np.maximum.accumulate(end)
    ends = np.flatnonzero(start[1:] > until[:-1]) + 1
    begin, stop, following = until[ends - 1], start[ends], ends
    # A window that the user set may reach beyond the lane's first and last op.
    first, last = facts.reach
    if first < start[0]:
        begin, stop = np.append(first, begin), np.append(start[0], stop)
        following = np.append(0, following)
    if last > until[-1]:
        begin, stop = np.append(begin, until[-1]), np.append(stop, last)
        following = np.append(following, NO_OP)
    return Idle(begin, stop, following, place, start, end, until)


def _next_op(work: Workspace, facts: Facts, idle: Idle) -> Ints:
    """Return the op that ends each stretch: the primary stream's, of several that begin at once."""
    copy_kind = column(work, "copy_kind")[idle.place]
    migrates = (copy_kind >= MIGRATIONS[0]) & (copy_kind <= MIGRATIONS[1])
    chosen = idle.next.copy()
    here = np.flatnonzero(chosen >= 0)
    many = np.searchsorted(idle.op_start, idle.end[here], side="right") - chosen[here]
    chosen[here[(many == 1) & migrates[chosen[here]]]] = NO_OP
    several = here[many > 1]
    if len(several):
        chosen[several] = _best(
            columns(work, "context", "stream", "correlation"), facts, idle, several, migrates
        )
    missed = np.flatnonzero((chosen < 0) & (idle.next >= 0))
    if len(missed):
        asked = np.flatnonzero(column(work, "launch_start_ns")[idle.place] != NEVER)
        after = np.searchsorted(idle.op_start[asked], idle.end[missed], side="left")
        chosen[missed] = np.append(asked, NO_OP)[after]
    return chosen


def _best(place: dict[str, Ints], facts: Facts, idle: Idle, several: Ints, migrates: Flags) -> Ints:
    """Choose among ops that begin together: primary stream, then end, stream, correlation."""
    many = np.searchsorted(idle.op_start, idle.end[several], side="right") - idle.next[several]
    group = np.repeat(np.arange(len(several)), many)
    offset = np.arange(len(group)) - np.repeat(np.cumsum(many) - many, many)
    one = np.repeat(idle.next[several], many) + offset
    group, one = group[~migrates[one]], one[~migrates[one]]
    at = idle.place[one]
    context, stream = (NEVER if key is None else key for key in facts.primary)
    primary = (place["context"][at] == context) & (place["stream"][at] == stream)
    # What is not recorded comes last.
    keys = [np.where(v == NEVER, FAR, v) for v in (place["correlation"][at], place["stream"][at])]
    order = np.lexsort((*keys, idle.op_end[one], ~primary, group))
    found, first = np.unique(group[order], return_index=True)
    best = np.full(len(several), NO_OP, np.int64)
    best[found] = one[order][first]
    return best


def _previous(work: Workspace, idle: Idle, chosen: Ints) -> dict[str, Flags]:
    """Return whether an op that ended as the stretch began is on the next op's stream, or graph."""
    of, before, after = _ended(idle, chosen)

    def same(name: str) -> Flags:
        values = column(work, name)
        found: Flags = values[before] == values[after]
        return found

    def known(name: str) -> Flags:
        values = column(work, name)
        found: Flags = (values[before] != NEVER) & (values[after] != NEVER)
        return found

    stream, graph = np.zeros(len(chosen), bool), np.zeros(len(chosen), bool)
    stream[of[same("context") & same("stream")]] = True
    graph[of[known("graph_node") & known("correlation") & same("correlation")]] = True
    return {"same_stream": stream, "same_graph": graph}


def _ended(idle: Idle, chosen: Ints) -> tuple[Ints, Ints, Ints]:
    """Pair each stretch with the ops that ended as it began: the stretch, such an op, its next."""
    # Before a stretch nothing reaches further, so such an op ends at the running maximum.
    last = np.flatnonzero(idle.op_end == idle.until)
    ends = idle.op_end[last]
    found = [np.empty((3, 0), np.int64)]
    for at in range(0, len(chosen), AT_ONCE):
        here = at + np.flatnonzero(chosen[at : at + AT_ONCE] >= 0)
        low = np.searchsorted(ends, idle.start[here], side="left")
        count = np.searchsorted(ends, idle.start[here], side="right") - low
        of = np.repeat(here, count)
        offset = np.arange(len(of)) - np.repeat(np.cumsum(count) - count, count)
        before = idle.place[last[np.repeat(low, count) + offset]]
        found.append(np.stack([of, before, idle.place[chosen[of]]]))
    of, before, after = np.concatenate(found, axis=1)
    return of, before, after


def _likely_thread(work: Workspace, idle: Spans, launch: dict[str, Ints]) -> Ints:
    """Return the launching thread; without a recorded call the one that launched last before."""
    thread = launch["launch_thread"].copy()
    unknown = np.flatnonzero(launch["launch_start_ns"] == NEVER)
    if not len(unknown):
        return thread
    calls = columns(work, "launch_start_ns", "launch_thread")
    at = np.flatnonzero(calls["launch_start_ns"] != NEVER)
    at = at[np.argsort(calls["launch_start_ns"][at], kind="stable")]
    if len(at):
        last = np.searchsorted(calls["launch_start_ns"][at], idle.end[unknown], side="right") - 1
        likely = np.where(last >= 0, calls["launch_thread"][at[last]], NEVER)
        here = thread[unknown]
        thread[unknown] = np.where(here == NEVER, likely, here)
    return thread


def _first_launch(work: Workspace, facts: Facts, op: dict[str, Ints]) -> Flags:
    """Return which long calls launched the first kernel of their name in the process."""
    call = op["launch_start_ns"]
    asked = (call != NEVER) & (op["launch_end_ns"] - call > LONG_CALL_NS)
    asked &= (op["next_kind"] == KINDS.index("kernel")) & (op["next_name_id"] != NEVER)
    names = np.unique(op["next_name_id"][asked])
    if not len(names):
        return np.zeros(len(call), bool)
    work.keep("long_launch", pa.table({"name_id": names}))
    low, high = facts.lanes
    first = arrays(work.arrow("first_launch", first_lane=low, last_lane=high))
    where = np.searchsorted(first["name_id"], op["next_name_id"][asked])
    found = np.zeros(len(call), bool)
    found[asked] = first["launch_start_ns"][where] == call[asked]
    return found


def _cut(idle: Spans, part: Spans, launch: dict[str, Ints]) -> dict[str, Ints]:
    """Cut each gap, a part of its stretch ``idle``, in three at its next op's launching call."""
    begun, ended = launch["launch_start_ns"], launch["launch_end_ns"]
    recorded = begun != NEVER
    idle_start, idle_end = idle.start, idle.end
    early = recorded & (begun < idle_start)
    host_until = np.where(recorded, np.clip(begun, part.start, part.end), part.end)
    # A call that still runs has not queued its op yet.
    launch_until = np.where(early, np.clip(ended, part.start, part.end), part.end)
    queued = idle_end - np.maximum(idle_start, np.minimum(ended, idle_end))
    return {
        "start_ns": part.start,
        "host_until_ns": host_until,
        "launch_until_ns": launch_until,
        "end_ns": part.end,
        "idle_start_ns": idle_start,
        "idle_end_ns": idle_end,
        "queued_ns": np.where(early, queued, 0),
        "launch_recorded": recorded,
        "long_call": recorded & (ended - begun > LONG_CALL_NS),
        "launch_start_ns": nullable(begun, ~recorded),
    }
