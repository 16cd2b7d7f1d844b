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
from nsysflow.job.matching import Matching

ALL_WAIT = [
    OP[name]
    for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier", "generic")
]
FROM_ROOT = [OP["broadcast"], OP["scatter"]]
TO_ROOT = [OP["reduce"], OP["gather"]]
# Clock error above this share of the typical lateness: no claims about who came last.
WEAK = 0.10
SURE = 3


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


def split(
    ops: Ops, trace: Ints, found: Matching, members: Members, clocks: Clocks, *, missing: bool
) -> Waits:
    """Split all ops; ``trace`` is the file of every op, ``missing``: ranks of the job are not here.

    An instance counts as complete if as many members are here as its communicator has; where that
    is not known, if no rank of the job is missing.
    """
    complete = _complete(found, members, missing)
    until, for_op = np.full(len(ops), NEVER, np.int64), np.full(len(ops), NONE, np.int64)
    late, last = np.zeros(len(ops), np.int64), np.zeros(len(ops), np.bool_)
    floor = 0 if clocks.status == "same_clock" else SURE * (clocks.sigma_ns or 0)
    op = members.op
    starts = clocks.to_job(trace[op], ops["start_ns"][op])
    comparable = clocks.status in ("same_clock", "aligned")
    begun = np.full(len(ops), NEVER, np.int64)
    begun[op] = starts
    if comparable and len(op):
        late[op] = _zero_within(starts - members.others(starts), floor)
        comparable = clocks.status == "same_clock" or not _weak(members, starts, clocks)
    if comparable:
        _by_arrival(ops, members, starts, floor, until, for_op, last)
        until[op] = _to_file(clocks, trace[op], until[op])
        # A lane that did not wait beyond the clocks' error starts to transfer at once.
        own = until[op] != NEVER
        until[op[own]] = np.clip(until[op[own]], ops["start_ns"][op[own]], ops["end_ns"][op[own]])
    else:
        _by_duration(ops, members, until)
    unknown = op[~complete[members.at]]
    until[unknown], for_op[unknown], last[unknown] = NEVER, NONE, False
    return Waits(until, for_op, begun, late, last, complete, comparable, floor)


def _complete(found: Matching, members: Members, missing: bool) -> Flags:
    size = np.array(
        [
            group.size if group.size is not None else (0 if missing else len(group.lanes))
            for group in found.groups
        ],
        np.int64,
    )
    return members.size == size[found.group] if len(found.group) else np.empty(0, np.bool_)


def _zero_within(late: Ints, floor: int) -> Ints:
    return np.where(np.abs(late) > floor, late, 0)


def _weak(members: Members, starts: Ints, clocks: Clocks) -> bool:
    spread = members.most(starts) - members.median(starts)
    typical = float(np.median(spread)) if len(spread) else 0.0
    # Where the clocks tell nothing late at all there is no arrival to claim either.
    return (clocks.sigma_ns or 0) > WEAK * max(typical, float(np.quantile(spread, 0.9)))


def _by_arrival(
    ops: Ops, members: Members, starts: Ints, floor: int, until: Ints, for_op: Ints, last: Flags
) -> None:
    """Fill ``until`` on the job's time line."""
    op, at = members.op, members.at
    kind = ops["op"][op]
    latest = members.most(starts)
    # Of several that come last together the first lane stands for all; none of them is "the" last.
    is_latest = starts == latest[at]
    leader = np.full(len(latest), NONE, np.int64)
    reverse = np.flatnonzero(is_latest)[::-1]
    leader[at[reverse]] = op[reverse]
    second = members.most(np.where(op == leader[at], NEVER, starts))
    clear = latest - second > floor
    last[op] = is_latest & clear[at]
    target, culprit = latest[at], leader[at]
    root = _root_op(ops, members)
    from_root, to_root = np.isin(kind, FROM_ROOT), np.isin(kind, TO_ROOT)
    root_start = np.where(root[at] >= 0, _start_of(members, starts, root)[at], NEVER)
    target = np.where(from_root, np.maximum(root_start, starts), target)
    culprit = np.where(from_root, root[at], culprit)
    waiting = ~to_root | (op == root[at])
    target = np.where(waiting, target, starts)
    known = np.isin(kind, ALL_WAIT) | ((from_root | to_root) & (root[at] >= 0))
    known |= (kind == OP["send_recv"]) & (members.size[at] == 2)  # noqa: PLR2004 - a pair
    waits = target - starts > floor
    target = np.where(waits, target, starts)
    until[op] = np.where(known, target, NEVER)
    for_op[op] = np.where(known & waits & (culprit != op), culprit, NONE)


def _root_op(ops: Ops, members: Members) -> Ints:
    """Return each instance's op on its root, NONE if that is not known."""
    at, op = members.at, members.op
    place = np.arange(len(op)) - members.first[at]
    own = ops["comm_rank"][op]
    seat = np.where(own >= 0, own, place)
    is_root = (ops["root"][op] >= 0) & (ops["root"][op] == seat)
    root = np.full(len(members.first), NONE, np.int64)
    root[at[is_root]] = op[is_root]
    return root


def _start_of(members: Members, starts: Ints, chosen: Ints) -> Ints:
    found = np.full(len(members.first), NEVER, np.int64)
    mine = chosen[members.at] == members.op
    found[members.at[mine]] = starts[mine]
    return found


def _by_duration(ops: Ops, members: Members, until: Ints) -> None:
    op = members.op
    if not len(op):
        return
    length = ops["end_ns"][op] - ops["start_ns"][op]
    shortest = members.least(length)[members.at]
    known = np.isin(ops["op"][op], ALL_WAIT)
    known |= (ops["op"][op] == OP["send_recv"]) & (members.size[members.at] == 2)  # noqa: PLR2004
    until[op] = np.where(known, ops["end_ns"][op] - shortest, NEVER)


def _to_file(clocks: Clocks, trace: Ints, time: Ints) -> Ints:
    local = time.copy()
    for number in np.unique(trace):
        mine = (trace == number) & (time != NEVER)
        local[mine] = clocks.to_file(int(number), time[mine])
    return local
