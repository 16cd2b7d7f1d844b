"""Split every matched collective of every rank into waiting for others and moving bytes.

``[start, until)`` is waiting, ``[until, end)`` transfer. Who waits for whom depends on the
operation. Where clocks are too weak for arrivals the shortest member's duration stands for the
transfer: that needs no clock and names no culprit.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsysflow.job.clocks import Clocks
from nsysflow.job.instances import Members
from nsysflow.job.lanes import NEVER, NONE, OP, Flags, Ints, Ops
from nsysflow.job.matching import PAIR, Matching

ALL_WAIT = [
    OP[name]
    for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier", "generic")
]
FROM_ROOT = [OP["broadcast"], OP["scatter"]]
TO_ROOT = [OP["reduce"], OP["gather"]]
# Clock error above this share of the typical lateness: no claims about who came last.
WEAK = 0.10
SURE = 3
# A few late collectives in many are worth telling too: the spread that a tenth exceeds counts.
OFTEN = 0.9

Matched = tuple[Matching, Members]


@dataclass(frozen=True)
class Waits:
    """Per op: ``until`` (on the file's clock, NEVER: not split), ``for_op`` that it waited for.

    ``start`` is the start of a matched op on the job's time line and ``late`` how far it lies after
    the median of the other members', 0 within the clocks' error. ``last`` ops came after all other
    members. ``complete`` per instance: all members are here. ``by_arrival`` tells arrivals from
    durations, which name nobody. ``floor_ns``: what the clocks cannot tell.
    """

    until: Ints
    for_op: Ints
    start: Ints
    late: Ints
    last: Flags
    complete: Flags
    by_arrival: bool
    floor_ns: int


def split(ops: Ops, trace: Ints, matched: Matched, clocks: Clocks, *, missing: bool) -> Waits:
    """Split all ops.

    An instance counts as complete if as many members are here as its communicator has; where that
    is not known, if no rank of the job is missing.

    Args:
        ops: the communication ops.
        trace: the file of every op.
        matched: which of them are one collective.
        clocks: the clocks of the files.
        missing: ranks of the job are not here.
    """
    found, members = matched
    op = members.op
    complete = _complete(found, members, missing)
    waits = Waits(
        until=np.full(len(ops), NEVER, np.int64),
        for_op=np.full(len(ops), NONE, np.int64),
        start=np.full(len(ops), NEVER, np.int64),
        late=np.zeros(len(ops), np.int64),
        last=np.zeros(len(ops), np.bool_),
        complete=complete,
        by_arrival=_can_tell(ops, trace, members, clocks),
        floor_ns=0 if clocks.status == "same_clock" else SURE * (clocks.sigma_ns or 0),
    )
    waits.start[op] = clocks.to_job(trace[op], ops["start_ns"][op])
    if waits.by_arrival:
        starts = waits.start[op]
        late = starts - members.others(starts) if len(op) else starts
        waits.late[op] = np.where(np.abs(late) > waits.floor_ns, late, 0)
        _by_arrival(ops, members, waits)
        waits.until[op] = _to_file(clocks, trace[op], waits.until[op])
        # A lane that did not wait beyond the clocks' error starts to transfer at once.
        own = op[waits.until[op] != NEVER]
        waits.until[own] = np.clip(waits.until[own], ops["start_ns"][own], ops["end_ns"][own])
    else:
        _by_duration(ops, members, waits.until)
    unknown = op[~complete[members.at]]
    waits.until[unknown], waits.for_op[unknown], waits.last[unknown] = NEVER, NONE, False
    return waits


def _can_tell(ops: Ops, trace: Ints, members: Members, clocks: Clocks) -> bool:
    """Whether the clocks are good enough to say who came last."""
    if clocks.status == "same_clock" or not len(members.op):
        return clocks.status in ("same_clock", "aligned")
    starts = clocks.to_job(trace[members.op], ops["start_ns"][members.op])
    spread = members.most(starts) - members.median(starts)
    typical = max(float(np.median(spread)), float(np.quantile(spread, OFTEN)))
    return clocks.status == "aligned" and (clocks.sigma_ns or 0) <= WEAK * typical


def _complete(found: Matching, members: Members, missing: bool) -> Flags:
    size = np.array(
        [
            group.size if group.size is not None else (0 if missing else len(group.lanes))
            for group in found.groups
        ],
        np.int64,
    )
    return members.size == size[found.group] if len(found.group) else np.empty(0, np.bool_)


def _by_arrival(ops: Ops, members: Members, waits: Waits) -> None:
    """Fill ``until`` (on the job's time line), ``for_op`` and ``last``."""
    op, at = members.op, members.at
    starts, kind = waits.start[op], ops["op"][op]
    latest = members.most(starts)
    leader = _first_of(members, starts == latest[at])
    second = members.most(np.where(op == leader[at], NEVER, starts))
    # Of several that come last together one stands for all; none of them is "the" last.
    waits.last[op] = (op == leader[at]) & (latest - second > waits.floor_ns)[at]
    root = _root_op(ops, members)
    has_root = root[at] >= 0
    from_root, to_root = np.isin(kind, FROM_ROOT), np.isin(kind, TO_ROOT)
    target = np.where(from_root & has_root, waits.start[root[at]], latest[at])
    target = np.where(to_root & (op != root[at]), starts, target)
    culprit = np.where(from_root, root[at], leader[at])
    known = np.isin(kind, ALL_WAIT) | ((from_root | to_root) & has_root)
    known |= (kind == OP["send_recv"]) & (members.size[at] == PAIR)
    long = target - starts > waits.floor_ns
    waits.until[op] = np.where(known, np.where(long, target, starts), NEVER)
    waits.for_op[op] = np.where(known & long & (culprit != op), culprit, NONE)


def _first_of(members: Members, some: Flags) -> Ints:
    """Return the first op of every instance among some rows, NONE without one."""
    found = np.full(len(members.first), NONE, np.int64)
    rows = np.flatnonzero(some)[::-1]
    found[members.at[rows]] = members.op[rows]
    return found


def _root_op(ops: Ops, members: Members) -> Ints:
    """Return each instance's op on its root, NONE if that is not known."""
    at, op = members.at, members.op
    place = np.arange(len(op)) - members.first[at]
    own = ops["comm_rank"][op]
    seat = np.where(own >= 0, own, place)
    return _first_of(members, (ops["root"][op] >= 0) & (ops["root"][op] == seat))


def _by_duration(ops: Ops, members: Members, until: Ints) -> None:
    op = members.op
    if not len(op):
        return
    length = ops["end_ns"][op] - ops["start_ns"][op]
    shortest = members.least(length)[members.at]
    known = np.isin(ops["op"][op], ALL_WAIT)
    known |= (ops["op"][op] == OP["send_recv"]) & (members.size[members.at] == PAIR)
    until[op] = np.where(known, ops["end_ns"][op] - shortest, NEVER)


def _to_file(clocks: Clocks, trace: Ints, time: Ints) -> Ints:
    local = time.copy()
    for number in np.unique(trace):
        mine = (trace == number) & (time != NEVER)
        local[mine] = clocks.to_file(int(number), time[mine])
    return local
