"""Sets of half-open intervals as sorted arrays: intersect, subtract, flatten.

Every function is linear in its input and output, up to a binary search per interval.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsysflow.analyse.nesting import enclosing

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Spans:
    """Disjoint intervals by start, each with a number that says what it is of."""

    start: Ints
    end: Ints
    of: Ints

    def __len__(self) -> int:
        """Return how many intervals there are."""
        return len(self.start)

    @property
    def length(self) -> Ints:
        """Lengths in ns."""
        return self.end - self.start

    def take(self, some: npt.NDArray[np.bool_] | Ints | slice) -> Spans:
        """Return some of the intervals, in their order."""
        return Spans(self.start[some], self.end[some], self.of[some])


def nothing() -> Spans:
    """Return the empty set."""
    none = np.empty(0, np.int64)
    return Spans(none, none, none)


def overlaps(a: Spans, b: Spans) -> tuple[Ints, Ints, Spans]:
    """Return every overlap of ``a`` with ``b``: positions in both, and the part of ``a``."""
    first = np.searchsorted(b.end, a.start, side="right")
    last = np.searchsorted(b.start, a.end, side="left")
    count = np.maximum(last - first, 0)
    in_a = np.repeat(np.arange(len(a)), count)
    offset = np.arange(len(in_a)) - np.repeat(np.cumsum(count) - count, count)
    in_b = np.repeat(first, count) + offset
    start = np.maximum(a.start[in_a], b.start[in_b])
    end = np.minimum(a.end[in_a], b.end[in_b])
    return in_a, in_b, Spans(start, end, a.of[in_a])


def minus(a: Spans, b: Spans) -> Spans:
    """Return the parts of ``a`` outside ``b``."""
    found, _, shared = overlaps(a, b)
    cut = np.zeros(len(a), bool)
    cut[found] = True
    whole = a.take(~cut & (a.end > a.start))
    if not len(found):
        return whole
    left = _without(a.take(cut), (np.cumsum(cut) - 1)[found], shared)
    return merge(whole, left) if len(whole) else left


def _without(a: Spans, found: Ints, shared: Spans) -> Spans:
    """Take from ``a`` its parts ``shared``, which are of its intervals ``found``."""
    begins = np.concatenate([a.start, shared.end])
    stops = np.concatenate([shared.start, a.end])
    of_begin = np.concatenate([np.arange(len(a)), found])
    of_stop = np.concatenate([found, np.arange(len(a))])
    # Within one interval of ``a`` the begins and the stops pair up in order of time.
    begin_order = np.lexsort((begins, of_begin))
    stop_order = np.lexsort((stops, of_stop))
    start, end = begins[begin_order], stops[stop_order]
    of = a.of[of_begin[begin_order]]
    return Spans(start, end, of).take(end > start)


def merge(*sets: Spans) -> Spans:
    """Return several sets that do not overlap as one, by start."""
    start = np.concatenate([each.start for each in sets])
    order = np.argsort(start, kind="stable")
    end = np.concatenate([each.end for each in sets])[order]
    return Spans(start[order], end, np.concatenate([each.of for each in sets])[order])


def flatten(start: Ints, end: Ints, of: Ints) -> Spans:
    """Return overlapping intervals without overlaps: an instant goes to the latest start.

    Of intervals that begin together the shortest wins, then the last given.
    """
    order = np.lexsort((-end, start))
    start, end, of = start[order], end[order], of[order]
    long = end > start
    start, end, of = start[long], end[long], of[long]
    if not len(start):
        return nothing()
    points = np.unique(np.concatenate([start, end]))
    parents = enclosing(end)
    where = np.searchsorted(start, points[:-1], side="right") - 1
    climbing = np.flatnonzero(where >= 0)
    while len(climbing):
        climbing = climbing[end[where[climbing]] <= points[climbing]]
        where[climbing] = parents[where[climbing]]
        climbing = climbing[where[climbing] >= 0]
    inside = where >= 0
    return Spans(points[:-1][inside], points[1:][inside], of[where[inside]])


def layers(stacked: list[Spans]) -> Spans:
    """Return one set in which each instant belongs to the first of the sets that holds it."""
    result = nothing()
    for each in stacked:
        if len(each):
            result = merge(result, minus(each, result)) if len(result) else each
    return result
