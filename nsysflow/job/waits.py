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
from nsysflow.job.talks import PAIR

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

# Why an op is not split.
UNSPLIT = (
    "it was not matched",
    "some of its ranks are not in this report",
    "who sends to whom was not recorded",
    "a peer's own send or receive was not matched",
    "its root was not recorded",
    "durations alone do not tell who waits for a root",
)
_MISSING, _PEERS, _PEER, _ROOT, _DURATION = range(1, len(UNSPLIT))

Matched = tuple[Matching, Members]


@dataclass(frozen=True)
class Waits:
    """Per op: ``until`` (on the file's clock, NEVER: not split), ``for_op`` that it waited for.

    ``start`` is the start of a matched op on the job's time line and ``late`` how far it lies after
    the median of the other members', 0 within the clocks' error. ``last`` ops came after all other
    members. ``unsplit`` per op: the number of the reason why it is not split, NONE if it is.
    ``complete`` per instance: all members are here. ``by_arrival`` tells arrivals from durations,
    which name nobody. ``floor_ns``: what the clocks cannot tell.
    """

    until: Ints
    for_op: Ints
    start: Ints
    late: Ints
    last: Flags
    unsplit: Ints
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
    unsplit = np.zeros(len(ops), np.int64)
    unsplit[op] = _unsplit(ops, found, members, missing)
    waits = Waits(
        until=np.full(len(ops), NEVER, np.int64),
        for_op=np.full(len(ops), NONE, np.int64),
        start=np.full(len(ops), NEVER, np.int64),
        late=np.zeros(len(ops), np.int64),
        last=np.zeros(len(ops), np.bool_),
        unsplit=unsplit,
        complete=members.least((~np.isin(unsplit[op], (_MISSING, _PEER))).astype(int)).astype(bool),
        by_arrival=_can_tell(ops, trace, members, clocks),
        floor_ns=0 if clocks.status == "same_clock" else SURE * (clocks.sigma_ns or 0),
    )
    waits.start[op] = clocks.to_job(trace[op], ops["start_ns"][op])
    if waits.by_arrival:
        starts = waits.start[op]
        late = starts - members.others(starts) if len(op) else starts
        waits.late[op] = np.where(np.abs(late) > waits.floor_ns, late, 0)
        _by_arrival(ops, matched, waits)
        waits.until[op] = _to_file(clocks, trace[op], waits.until[op])
        # A lane that did not wait beyond the clocks' error starts to transfer at once.
        own = op[waits.until[op] != NEVER]
        waits.until[own] = np.clip(waits.until[own], ops["start_ns"][own], ops["end_ns"][own])
    else:
        _by_duration(ops, matched, waits)
    not_all = op[~waits.complete[members.at]]
    waits.last[not_all] = False
    return waits


def _can_tell(ops: Ops, trace: Ints, members: Members, clocks: Clocks) -> bool:
    """Whether the clocks are good enough to say who came last."""
    if clocks.status == "same_clock" or not len(members.op):
        return clocks.status in ("same_clock", "aligned")
    starts = clocks.to_job(trace[members.op], ops["start_ns"][members.op])
    spread = members.most(starts) - members.median(starts)
    typical = max(float(np.median(spread)), float(np.quantile(spread, OFTEN)))
    return clocks.status == "aligned" and (clocks.sigma_ns or 0) <= WEAK * typical


def _unsplit(ops: Ops, found: Matching, members: Members, missing: bool) -> Ints:
    """Return for every matched op why it cannot be split, NONE if it can."""
    op, at, talks = members.op, members.at, found.talks
    size = np.array(
        [
            group.size if group.size is not None else (0 if missing else len(group.lanes))
            for group in found.groups
        ],
        np.int64,
    )[found.group[at]]
    kind, root = ops["op"][op], root_op(ops, members)[at]
    talking = talks.asked[op] > 0
    rooted = np.isin(kind, (*FROM_ROOT, *TO_ROOT))
    why = np.full(len(op), NONE, np.int64)
    why[rooted & (root < 0)] = _ROOT
    why[(kind == OP["send_recv"]) & ~talking & (members.size[at] != PAIR)] = _PEERS
    why[~talking & (members.size[at] != size)] = _MISSING
    # Where the size of a communicator is not known, ranks that are missing may be among the peers.
    why[talking & (size == 0)] = _MISSING
    why[talking & (talks.heard[op] < talks.asked[op])] = _PEER
    return why


def _by_arrival(ops: Ops, matched: Matched, waits: Waits) -> None:
    """Fill ``until`` (on the job's time line), ``for_op`` and ``last``."""
    members, talks = matched[1], matched[0].talks
    op, at = members.op, members.at
    starts, kind = waits.start[op], ops["op"][op]
    latest = members.most(starts)
    leader = _first_of(members, starts == latest[at])
    second = members.most(np.where(op == leader[at], NEVER, starts))
    # Of several that come last together one stands for all; none of them is "the" last.
    waits.last[op] = (op == leader[at]) & (latest - second > waits.floor_ns)[at]
    root = root_op(ops, members)
    has_root = root[at] >= 0
    from_root, to_root = np.isin(kind, FROM_ROOT), np.isin(kind, TO_ROOT)
    target = np.where(from_root & has_root, waits.start[root[at]], latest[at])
    target = np.where(to_root & (op != root[at]), starts, target)
    culprit = np.where(from_root, root[at], leader[at])
    # A send or receive waits for its own peers, whoever else they talk to.
    talking, heard = talks.asked[op] > 0, talks.most(waits.start)
    target = np.where(talking, heard[op], target)
    partner = talks.first(waits.start[talks.other] == heard[talks.one])
    culprit = np.where(talking, partner[op], culprit)
    known = waits.unsplit[op] == NONE
    long = target - starts > waits.floor_ns
    waits.until[op] = np.where(known, np.where(long, target, starts), NEVER)
    waits.for_op[op] = np.where(known & long & (culprit != op), culprit, NONE)


def _first_of(members: Members, some: Flags) -> Ints:
    """Return the first op of every instance among some rows, NONE without one."""
    found = np.full(len(members.first), NONE, np.int64)
    rows = np.flatnonzero(some)[::-1]
    found[members.at[rows]] = members.op[rows]
    return found


def root_op(ops: Ops, members: Members) -> Ints:
    """Return each instance's op on its root, NONE if that is not known."""
    at, op = members.at, members.op
    place = np.arange(len(op)) - members.first[at]
    own = ops["comm_rank"][op]
    seat = np.where(own >= 0, own, place)
    return _first_of(members, (ops["root"][op] >= 0) & (ops["root"][op] == seat))


def _by_duration(ops: Ops, matched: Matched, waits: Waits) -> None:
    """Fill ``until``: what a member is longer than the shortest, it waited."""
    members, talks = matched[1], matched[0].talks
    op = members.op
    length = ops["end_ns"] - ops["start_ns"]
    shortest = members.least(length[op])[members.at]
    shortest = np.where(talks.asked[op] > 0, talks.least(length)[op], shortest)
    rooted = np.isin(ops["op"][op], (*FROM_ROOT, *TO_ROOT))
    waits.unsplit[op[(waits.unsplit[op] == NONE) & rooted]] = _DURATION
    known = waits.unsplit[op] == NONE
    waits.until[op] = np.where(known, ops["end_ns"][op] - shortest, NEVER)


def _to_file(clocks: Clocks, trace: Ints, time: Ints) -> Ints:
    local = time.copy()
    for number in np.unique(trace):
        mine = (trace == number) & (time != NEVER)
        local[mine] = clocks.to_file(int(number), time[mine])
    return local
