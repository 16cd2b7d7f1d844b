"""Which ops of different lanes are one collective.

With communicator ids: (communicator, step, ordinal), verified by operation and size. Where a step's
sequences differ they are aligned; what has no counterpart stays unmatched. Without ids see
``streams``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

import numpy as np

from nsysflow.job.lanes import NEVER, NONE, OP, Flags, Ints, JobLane, Ops
from nsysflow.job.sequences import common
from nsysflow.job.talks import PAIR, Talks, talks_of, waves

# Operations for which NCCL demands the same size on every member.
_SIZED = [
    OP[name] for name in ("all_reduce", "all_gather", "reduce_scatter", "broadcast", "reduce")
]


@dataclass
class Group:
    """A set of lanes that run collectives together; ``name`` is the communicator's id."""

    name: str | None
    lanes: tuple[int, ...]
    size: int | None = None


@dataclass
class Matching:
    """``instance`` of every op (NONE: unmatched), ``group`` of every instance.

    ``alone`` ops have a communicator of one rank: there is nothing to match. ``talks`` are the
    sends and receives whose peers are known.
    """

    instance: Ints
    group: Ints
    alone: Flags
    groups: list[Group] = field(default_factory=list)
    talks: Talks = field(default_factory=lambda: Talks.none(0))

    @property
    def group_of(self) -> Ints:
        """Return the group of every op, NONE where it is unmatched."""
        # The last entry stands for the unmatched.
        found: Ints = np.append(self.group, NONE)[self.instance]
        return found

    @property
    def count(self) -> int:
        """How many instances there are."""
        return len(self.group)


def anchors(ops: Ops, lanes: Sequence[JobLane]) -> Ints:
    """Return the step under which each op is counted: the same on every lane, or one for all.

    Ops before a lane's first step belong to the step before it.
    """
    if not is_numbered(ops, lanes):
        return _by_position(ops, lanes)
    numbers = ops["number"].copy()
    first = np.array([x.first_number for x in lanes], np.int64)
    early = ops["step"] == NONE
    numbers[early] = first[ops["lane"][early]] - 1
    return numbers


def is_numbered(ops: Ops, lanes: Sequence[JobLane]) -> bool:
    """Whether every step has a number of its own, so that captures may begin at different ones."""
    told = all(lane.first_number is not None for lane in lanes)
    return told and not bool((ops["number"][ops["step"] >= 0] == NEVER).any())


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


def by_communicator(ops: Ops, anchor: Ints) -> Matching:
    """Match the ops whose communicator is known."""
    alone = _alone(ops)
    found = Matching(np.full(len(ops), NONE, np.int64), np.empty(0, np.int64), alone)
    found.talks = talks_of(ops, anchor, alone)
    some = np.flatnonzero((ops["comm"] >= 0) & ~alone & (found.talks.asked == 0))
    order = some[
        np.lexsort([c[some] for c in (ops["start_ns"], ops["order_ns"], ops["lane"], anchor)]
                   + [ops["comm"][some]])
    ]  # fmt: skip
    keys = np.stack([ops["comm"][order], anchor[order], ops["lane"][order]])
    runs = _runs(keys)
    steps = _Steps(found, ops, signature(ops))
    groups: dict[int, int] = {}
    for cell in _cells(keys, runs):
        comm = int(ops["comm"][order[runs[cell[0]][0]]])
        number = groups.setdefault(comm, len(groups))
        if number == len(found.groups):
            found.groups.append(Group(ops.comms[comm], (), _size(ops, comm)))
        steps.match(number, [order[slice(*runs[k])] for k in cell])
    found.group = np.array(steps.group, np.int64)
    _members(found, ops, groups, some)
    _talking(found, ops)
    return found


def _talking(found: Matching, ops: Ops) -> None:
    """Make an instance of all ops that talk to each other, and groups of those who do."""
    if not len(found.talks.one):
        return
    wave = waves(found.talks)
    some = np.unique(found.talks.one)
    first, number = np.unique(wave[some], return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    edges = np.append(np.searchsorted(number[order], np.arange(len(first))), len(order))
    groups: dict[tuple[int, tuple[int, ...]], int] = {}
    held: dict[int, set[int]] = {}
    group = []
    for begin, end in pairwise(edges.tolist()):
        mine = some[order[begin:end]]
        lanes = tuple(sorted(set(ops["lane"][mine].tolist())))
        comm = int(ops["comm"][mine[0]])
        key = (comm, lanes if len(lanes) == PAIR else ())
        place = groups.setdefault(key, len(found.groups))
        if place == len(found.groups):
            size = _size(ops, comm)
            size = PAIR if size is not None and len(lanes) == PAIR else size
            found.groups.append(Group(ops.comms[comm], (), size))
        held.setdefault(place, set()).update(lanes)
        group.append(place)
    found.instance[some] = found.count + number
    found.group = np.append(found.group, np.array(group, np.int64))
    for place, members in held.items():
        found.groups[place].lanes = tuple(sorted(members))


def _alone(ops: Ops) -> Flags:
    """Copies between devices name no peer; a communicator of one rank has none."""
    alone: Flags = (ops["op"] == OP["p2p_copy"]) | (ops["ranks"] == 1)
    return alone


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
    return list(pairwise(edges))


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


@dataclass
class _Steps:
    """Gives the ops of one step after the other their instances; ``group`` of every instance."""

    found: Matching
    ops: Ops
    sign: Ints
    group: list[int] = field(default_factory=list)

    def match(self, group: int, members: list[Ints]) -> None:
        """Match what each member ran in one step."""
        if len(members) < PAIR:
            return
        signs = [self.sign[each] for each in members]
        first = len(self.group)
        if all(np.array_equal(sign, signs[0]) for sign in signs):
            self.group.extend([group] * len(signs[0]))
            for each in members:
                self.found.instance[each] = first + np.arange(len(each))
            return
        lead = _leader(signs)
        pairs = self._aligned(members, signs, lead)
        used = np.zeros(len(signs[lead]), np.int64)
        for pair in pairs:
            used[pair[:, 0]] += 1
        shared = used >= PAIR
        number = np.cumsum(shared) - 1 + first
        for pair, each in zip(pairs, members, strict=True):
            both = pair[shared[pair[:, 0]]]
            self.found.instance[each[both[:, 1]]] = number[both[:, 0]]
        self.group.extend([group] * int(shared.sum()))

    def _aligned(self, members: list[Ints], signs: list[Ints], lead: int) -> list[Ints]:
        """Align each member's sequence with the leader's.

        What ran before a capture's first step is the end of the step before.
        """
        early = [bool((self.ops["step"][each] == NONE).all()) for each in members]
        return [
            np.array(
                common(signs[lead].tolist(), sign.tolist(), from_end=early[lead] or mine), np.int64
            ).reshape(-1, 2)
            for sign, mine in zip(signs, early, strict=True)
        ]


def _leader(signs: list[Ints]) -> int:
    """Return the sequence that most members have, the longest of those."""
    texts = [s.tobytes() for s in signs]
    return max(range(len(signs)), key=lambda k: (texts.count(texts[k]), len(signs[k]), -k))


def _members(found: Matching, ops: Ops, groups: dict[int, int], some: Ints) -> None:
    pairs = np.unique(np.stack([ops["comm"][some], ops["lane"][some]]), axis=1)
    for comm, group in groups.items():
        found.groups[group].lanes = tuple(pairs[1][pairs[0] == comm].tolist())
