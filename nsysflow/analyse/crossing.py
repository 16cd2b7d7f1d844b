"""Ranges that cross: what was launched in both belongs to both.

Ranges of one thread nest in their domain; start-end ranges, and ranges of several domains, may end
in any order. A path holds what encloses the innermost range; the others are found here. Most
threads have none, and then nothing is done.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]

# Launches that are told to be in a crossed range as well; beyond, the program is one tangle.
MOST_SHARED = 4_000_000
_NONE = np.empty(0, np.int64)


@dataclass(frozen=True)
class Crossed:
    """Ranges from when they no longer enclose the innermost one until they end, and their path."""

    start: Ints
    end: Ints
    path: Ints


def following(ends: Ints) -> Ints:
    """Return for each range the nearest later one that ends later, or how many there are."""
    answer = np.arange(1, len(ends) + 1, dtype=np.int64)
    asking = np.flatnonzero(answer < len(ends))
    while len(asking):
        asking = asking[ends[answer[asking]] <= ends[asking]]
        answer[asking] = answer[answer[asking]]
        asking = asking[answer[asking] < len(ends)]
    return answer


def crossed(starts: Ints, ends: Ints, path: Ints) -> Crossed:
    """Return the ranges that end while a later one, which ends after them, has begun."""
    after = following(ends)
    some = np.flatnonzero(after < len(ends))
    some = some[starts[after[some]] < ends[some]]
    return Crossed(starts[after[some]], ends[some], path[some])


def shared(at: Ints, op: Ints, found: Sequence[Crossed]) -> tuple[Ints, Ints]:
    """Return (op, path) of the launches made in crossed ranges.

    Args:
        at: launch times, ascending.
        op: what was launched, negative for what is no device work.
        found: crossed ranges.
    """
    first = np.concatenate([_NONE, *(np.searchsorted(at, each.start) for each in found)])
    last = np.concatenate([_NONE, *(np.searchsorted(at, each.end) for each in found)])
    path = np.concatenate([_NONE, *(each.path for each in found)])
    count = last - first
    few = np.cumsum(count) <= MOST_SHARED
    first, count, path = first[few], count[few], path[few]
    total = int(count.sum())
    within = np.arange(total) - np.repeat(np.cumsum(count) - count, count)
    ops, paths = op[np.repeat(first, count) + within], np.repeat(path, count)
    return ops[ops >= 0], paths[ops >= 0]


def beyond(ops: Ints, paths: Ints, innermost: Ints, parent: Ints) -> tuple[Ints, Ints]:
    """Return the distinct pairs in which the path is not the op's own place or above it.

    Args:
        ops: places in ``innermost``.
        paths: one per op.
        innermost: path of each op, -1 for none.
        parent: the path above each path, -1 for none.
    """
    known = np.zeros(len(ops), bool)
    above = innermost[ops]
    climbing = np.flatnonzero(above >= 0)
    while len(climbing):
        known[climbing] |= above[climbing] == paths[climbing]
        above[climbing] = parent[above[climbing]]
        climbing = climbing[above[climbing] >= 0]
    pairs = np.unique(np.stack([ops[~known], paths[~known]]), axis=1)
    return pairs[0], pairs[1]
