"""Which ops of different lanes are one collective.

With communicator ids: (communicator, step, ordinal), verified by operation and size. Where a step's
sequences differ they are aligned; what has no counterpart stays unmatched. Without ids see
``streams``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from nsysflow.job.lanes import NEVER, NONE, OP, Flags, Ints, JobLane, Ops
from nsysflow.job.sequences import common

# Operations for which NCCL demands the same size on every member.
_SIZED = [
    OP[name] for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
]
_MIX = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Group:
    """A set of lanes that run collectives together; ``name`` is the communicator's id."""

    name: str | None
    lanes: tuple[int, ...]
    size: int | None = None


@dataclass
class Matching:
    """``instance`` of every op (NONE: unmatched), ``group`` of every instance.

    ``alone`` ops have a communicator of one rank: there is nothing to match.
    """

    instance: Ints
    group: Ints
    alone: Flags
    groups: list[Group] = field(default_factory=list)

    @property
    def count(self) -> int:
        """How many instances there are."""
        return len(self.group)


def anchors(ops: Ops, lanes: Sequence[JobLane]) -> Ints:
    """Return the step under which each op is counted: the same on every lane, or one for all.

    Ops before a lane's first step belong to the step before it.
    """
    numbers = ops["number"].copy()
    first = np.array([NEVER if x.first_number is None else x.first_number for x in lanes], np.int64)
    if (first == NEVER).any() or (numbers[ops["step"] >= 0] == NEVER).any():
        return _by_position(ops, lanes)
    early = ops["step"] == NONE
    numbers[early] = first[ops["lane"][early]] - 1
    return numbers


def _by_position(ops: Ops, lanes: Sequence[JobLane]) -> Ints:
    """Steps without numbers are counted from the first, if every lane has as many."""
    steps = [
        np.unique(ops["step"][(ops["lane"] == k) & (ops["step"] >= 0)]) for k in range(len(lanes))
    ]
    if len({tuple(s.tolist()) for s in steps}) == 1:
        return ops["step"].copy()
    return np.zeros(len(ops), np.int64)


def signature(ops: Ops) -> Ints:
    """Return what must be equal on all members: operation and, where NCCL demands it, size."""
    sized = np.isin(ops["op"], _SIZED)
    return ops["op"] * (1 << 48) + np.where(sized, (ops["bytes"] + 1) & ((1 << 48) - 1), 0)


def by_communicator(ops: Ops, lanes: Sequence[JobLane], anchor: Ints) -> Matching:
    """Match the ops whose communicator is known."""
    found = Matching(np.full(len(ops), NONE, np.int64), np.empty(0, np.int64), _alone(ops))
    some = np.flatnonzero((ops["comm"] >= 0) & ~found.alone)
    link = _links(ops, some)
    order = some[
        np.lexsort(
            (ops["start_ns"][some], ops["order_ns"][some], ops["lane"][some], anchor[some], link)
        )
    ]
    position = np.empty(len(ops), np.int64)
    position[some] = link
    keys = np.stack([position[order], anchor[order], ops["lane"][order]])
    runs = _runs(keys)
    sign = signature(ops)
    groups: dict[int, int] = {}
    made: list[int] = []
    for cell in _cells(keys, runs):
        comm = int(ops["comm"][order[runs[cell[0]][0]]])
        number = groups.setdefault(int(keys[0, runs[cell[0]][0]]), len(groups))
        if number == len(found.groups):
            found.groups.append(Group(ops.comms[comm], (), _size(ops, comm)))
        members = [order[a:b] for a, b in (runs[k] for k in cell)]
        _match(found, members, sign, ops, number, made)
    found.group = np.array(made, np.int64)
    _members(found, ops, position, groups, some)
    return found


def _alone(ops: Ops) -> Flags:
    """Copies between devices name no peer; a communicator of one rank has none."""
    return (ops["op"] == OP["p2p_copy"]) | (ops["ranks"] == 1)


def _links(ops: Ops, some: Ints) -> Ints:
    """Return a number per communicator, and per pair of ranks for sends within a larger one."""
    comm, lane = ops["comm"][some], ops["lane"][some]
    peer, own = ops["peer"][some], ops["comm_rank"][some]
    paired = (ops["op"][some] == OP["send_recv"]) & (peer >= 0)
    seat = np.where(own >= 0, own, _seats(comm, lane))
    low = np.where(paired, np.minimum(seat, peer), NONE)
    high = np.where(paired, np.maximum(seat, peer), NONE)
    return np.unique(np.stack([comm, low, high]), axis=1, return_inverse=True)[1].reshape(-1)


def _seats(comm: Ints, lane: Ints) -> Ints:
    """Return the place of each lane among those of its communicator: its rank there, in general."""
    pairs, place = np.unique(np.stack([comm, lane]), axis=1, return_inverse=True)
    first = np.searchsorted(pairs[0], pairs[0], side="left")
    seat: Ints = (np.arange(pairs.shape[1]) - first)[place.reshape(-1)]
    return seat


def _size(ops: Ops, comm: int) -> int | None:
    sizes = ops["ranks"][ops["comm"] == comm]
    largest = int(sizes.max()) if len(sizes) else NONE
    return largest if largest > 0 else None


def _runs(keys: Ints) -> list[tuple[int, int]]:
    """Return the ranges of columns that are equal."""
    count = keys.shape[1]
    if not count:
        return []
    change = np.flatnonzero((keys[:, 1:] != keys[:, :-1]).any(axis=0)) + 1
    edges = np.concatenate([[0], change, [count]]).tolist()
    return list(zip(edges[:-1], edges[1:], strict=True))


def _cells(keys: Ints, runs: list[tuple[int, int]]) -> list[list[int]]:
    """Return the runs of each (communicator, step) together."""
    cells: list[list[int]] = []
    before = None
    for number, (first, _) in enumerate(runs):
        cell = (int(keys[0, first]), int(keys[1, first]))
        if cell == before:
            cells[-1].append(number)
        else:
            cells.append([number])
        before = cell
    return cells


def _match(
    found: Matching, members: list[Ints], sign: Ints, ops: Ops, group: int, made: list[int]
) -> None:
    """Give one step's ops of a communicator their instances."""
    if len(members) == 1:
        return
    signs = [sign[each] for each in members]
    same = all(len(s) == len(signs[0]) and (s == signs[0]).all() for s in signs)
    first = len(made)
    if same:
        made.extend([group] * len(signs[0]))
        for each in members:
            found.instance[each] = first + np.arange(len(each))
        return
    lead = _leader(signs)
    early = (ops["step"][members[lead]] == NONE).all()
    used = np.zeros(len(signs[lead]), np.int64)
    pairs = []
    for s, each in zip(signs, members, strict=True):
        from_end = bool(early or (ops["step"][each] == NONE).all())
        pair = np.array(
            common(signs[lead].tolist(), s.tolist(), from_end=from_end), np.int64
        ).reshape(-1, 2)
        used[pair[:, 0]] += 1
        pairs.append(pair)
    number = np.cumsum(used >= 2) - 1 + first  # noqa: PLR2004 - one op alone is no collective
    for pair, each in zip(pairs, members, strict=True):
        shared = pair[used[pair[:, 0]] >= 2]  # noqa: PLR2004
        found.instance[each[shared[:, 1]]] = number[shared[:, 0]]
    made.extend([group] * int((used >= 2).sum()))  # noqa: PLR2004


def _leader(signs: list[Ints]) -> int:
    """Return the sequence that most members have, the longest of those."""
    texts = [s.tobytes() for s in signs]
    return max(range(len(signs)), key=lambda k: (texts.count(texts[k]), len(signs[k]), -k))


def _members(found: Matching, ops: Ops, link: Ints, groups: dict[int, int], some: Ints) -> None:
    number = np.array([groups[int(each)] for each in link[some]], np.int64)
    pairs = np.unique(np.stack([number, ops["lane"][some]]), axis=1)
    for group in range(len(found.groups)):
        found.groups[group].lanes = tuple(pairs[1][pairs[0] == group].tolist())
