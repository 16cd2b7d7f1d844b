"""Sends and receives: which ops of different lanes talk to each other.

A kernel carries out all sends and receives of its group, so it may talk to several peers at once,
as rings and interleaved pipelines do. The k-th op of a rank that names a peer belongs to the k-th
op of that peer that names the rank. Ops that talk, one through the other, are one instance.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsysflow.job.lanes import NONE, OP, Flags, Ints, Ops

PAIR = 2


@dataclass(frozen=True)
class Talks:
    """``one`` and ``other`` talk, both ways round, by ``one``; ``asked``: peers that an op names.

    ``asked`` is 0 for ops that are no sends or whose peers are not known.
    """

    one: Ints
    other: Ints
    asked: Ints

    @classmethod
    def none(cls, count: int) -> Talks:
        """Return no talks among ``count`` ops."""
        return cls(np.empty(0, np.int64), np.empty(0, np.int64), np.zeros(count, np.int64))

    @property
    def heard(self) -> Ints:
        """Return how many of its peers each op was matched with."""
        found: Ints = np.bincount(self.one, minlength=len(self.asked)).astype(np.int64)
        return found

    def most(self, values: Ints) -> Ints:
        """Return for every op the largest value among its own and its partners'."""
        found = values.copy()
        np.maximum.at(found, self.one, values[self.other])
        return found

    def least(self, values: Ints) -> Ints:
        """Return for every op the smallest value among its own and its partners'."""
        found = values.copy()
        np.minimum.at(found, self.one, values[self.other])
        return found

    def first(self, some: Flags) -> Ints:
        """Return for every op its first partner of which ``some`` (by pair) holds, NONE without."""
        found = np.full(len(self.asked), NONE, np.int64)
        rows = np.flatnonzero(some)[::-1]
        found[self.one[rows]] = self.other[rows]
        return found


def talks_of(ops: Ops, anchor: Ints, alone: Flags) -> Talks:
    """Match the sends and receives whose peers are known, step by step."""
    some = np.flatnonzero((ops["op"] == OP["send_recv"]) & (ops["comm"] >= 0) & ~alone)
    some = some[ops["peers"][some] >= 0]
    seat = _seats(ops)
    some = some[seat[some] >= 0]
    if not len(some):
        return Talks.none(len(ops))
    counts = np.array([len(peers) for peers in ops.peers], np.int64)
    op = np.repeat(some, counts[ops["peers"][some]])
    peer = np.array([p for code in ops["peers"][some].tolist() for p in ops.peers[code]], np.int64)
    # What a rank sends to itself waits for nobody.
    op, peer = op[peer != seat[op]], peer[peer != seat[op]]
    asked = np.bincount(op, minlength=len(ops)).astype(np.int64)
    if not len(op):
        return Talks.none(len(ops))
    own = seat[op]
    low, high = np.minimum(own, peer), np.maximum(own, peer)
    keys = np.stack([ops["comm"][op], low, high, anchor[op]])
    cell = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1)
    side = (own > peer).astype(np.int64)
    place = _places(ops, op, cell, side)
    first, second = _joined(cell, side, place)
    one = np.concatenate([op[first], op[second]])
    other = np.concatenate([op[second], op[first]])
    order = np.lexsort((other, one))
    return Talks(one[order], other[order], asked)


def _seats(ops: Ops) -> Ints:
    """Return the rank of every op's lane in its communicator, NONE where it is not known.

    Where its creation was not captured, the lanes of a communicator stand for its ranks in order;
    that needs all of them.
    """
    comm, lane = ops["comm"], ops["lane"]
    pairs, place = np.unique(np.stack([comm, lane]), axis=1, return_inverse=True)
    first = np.searchsorted(pairs[0], pairs[0], side="left")
    count = np.searchsorted(pairs[0], pairs[0], side="right") - first
    seat = (np.arange(pairs.shape[1]) - first)[place.reshape(-1)]
    size = np.full(int(comm.max()) + 2 if len(comm) else 1, NONE, np.int64)
    np.maximum.at(size, comm, ops["ranks"])
    whole = (size[comm] == NONE) | (size[comm] == count[place.reshape(-1)])
    found: Ints = np.where(ops["comm_rank"] >= 0, ops["comm_rank"], np.where(whole, seat, NONE))
    return found


def _places(ops: Ops, op: Ints, cell: Ints, side: Ints) -> Ints:
    """Return the place of every talk on its side of the cell, from the end before the first step.

    What ran before a capture's first step is the end of the step before.
    """
    order = np.lexsort((ops["start_ns"][op], ops["order_ns"][op], side, cell))
    key = 2 * cell + side
    ordered = key[order]
    first = np.searchsorted(ordered, ordered, side="left")
    last = np.searchsorted(ordered, ordered, side="right")
    begun = np.zeros(2 * int(cell.max()) + 2, np.bool_)
    begun[key[ops["step"][op] != NONE]] = True
    early = np.zeros(int(cell.max()) + 1, np.bool_)
    early[cell[~begun[key]]] = True
    at = np.arange(len(op))
    place = np.empty(len(op), np.int64)
    place[order] = np.where(early[cell[order]], at - last, at - first)
    return place


def _joined(cell: Ints, side: Ints, place: Ints) -> tuple[Ints, Ints]:
    """Return the talks of both sides that have the same cell and place."""
    key = np.unique(np.stack([cell, place]), axis=1, return_inverse=True)[1].reshape(-1)
    partner = np.full((2, int(key.max()) + 1), NONE, np.int64)
    partner[side, key] = np.arange(len(key))
    both = (partner != NONE).all(axis=0)
    return partner[0, both], partner[1, both]


def waves(talks: Talks) -> Ints:
    """Return the instance of every op: the lowest op that it talks to through others."""
    part = np.arange(len(talks.asked))
    while True:
        new = part.copy()
        np.minimum.at(new, talks.one, part[talks.other])
        new = new[new]
        if (new == part).all():
            return part
        part = new
