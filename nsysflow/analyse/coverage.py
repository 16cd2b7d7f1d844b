"""Unions of intervals that come by start: their length up to any instant, and their stretches."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

FAR = 1 << 62
# Intervals sorted by group and measured together.
AT_ONCE = 250_000


@dataclass(frozen=True)
class Coverage:
    """One union. All arrays have a place per interval, in the order of starts.

    ``until`` is the running maximum of ends in ns, ``covered`` the length in ns of the union of the
    intervals up to and including each. Up to an instant the union is what was covered by the last
    interval that began before it, less what reaches beyond: one search answers any question.
    """

    start: Ints
    until: Ints
    covered: Ints

    @classmethod
    def of(cls, start: Ints, end: Ints) -> Coverage:
        """Cover ``[start, end)``; starts ascend and no interval is negative."""
        until = np.maximum.accumulate(end)
        added = until.copy()
        added[:1] -= start[:1]
        added[1:] -= np.maximum(start[1:], until[:-1])
        return cls(start, until, np.cumsum(added))

    def at(self, times: Ints) -> Ints:
        """Return the length of the union before each of ``times``, in any order."""
        if not len(self.start):
            return np.zeros(len(times), np.int64)
        last = np.searchsorted(self.start, times, side="left") - 1
        beyond = np.maximum(self.until[last] - times, 0)
        found: Ints = np.where(last >= 0, self.covered[last] - beyond, 0)
        return found

    def between(self, start: Ints, end: Ints) -> Ints:
        """Return the length of the union inside each ``[start, end)``."""
        return self.at(end) - self.at(start)

    def begins(self) -> Ints:
        """Return the places of the intervals that begin a stretch; what touches is one stretch."""
        apart = np.flatnonzero(self.start[1:] > self.until[:-1]) + 1
        return np.concatenate([np.zeros(min(1, len(self.start)), np.int64), apart])

    def stretches(self) -> tuple[Ints, Ints]:
        """Return starts and ends of the union's stretches."""
        begins = self.begins()
        ends = np.concatenate([self.until[begins[1:] - 1], self.until[-1:]])
        return self.start[begins], ends


def alone(start: Ints, end: Ints) -> Flags:
    """Return which intervals share no instant with any other; starts ascend."""
    until = np.maximum.accumulate(end)
    by_itself = np.ones(len(start), bool)
    by_itself[1:] &= until[:-1] <= start[1:]
    by_itself[:-1] &= start[1:] >= end[:-1]
    return by_itself


def first_come(start: Ints, end: Ints, place: Ints, windows: tuple[Ints, Ints]) -> dict[int, Ints]:
    """Return the time of each place in each window; an instant goes to the lowest place that runs.

    Args:
        start: in ns, ascending.
        end: in ns.
        place: what each interval is, a small number.
        windows: starts and ends in ns.
    """
    single = alone(start, end)
    found = {}
    for one in np.unique(place).tolist():
        mine = single & (place == one)
        found[one] = Coverage.of(start[mine], end[mine]).between(*windows)
    # The time of "this place or a lower one" is a union; a place gets what it adds to the lower.
    start, end, place = start[~single], end[~single], place[~single]
    lower: Ints = np.zeros(len(windows[0]), np.int64)
    for one in np.unique(place).tolist():
        some = place <= one
        union = Coverage.of(start[some], end[some]).between(*windows)
        found[one] += union - lower
        lower = union
    return found


def by_group(group: Ints, start: Ints, end: Ints) -> dict[int, int]:
    """Return the length of each group's union, whatever the order of the intervals."""
    if not len(group):
        return {}
    order = np.lexsort((start, group))
    numbers, first = np.unique(group[order], return_index=True)
    found: dict[int, int] = {}
    # A few groups at a time: sorted copies of everything at once would be most of the memory.
    edges = np.searchsorted(first, np.arange(0, len(order), AT_ONCE)).tolist()
    for low, high in pairwise(sorted({*edges, len(numbers)})):
        last = first[high] if high < len(numbers) else len(order)
        mine = order[first[low] : last]
        lengths = _lengths(start[mine], end[mine], first[low:high] - first[low])
        found |= zip(numbers[low:high].tolist(), lengths.tolist(), strict=True)
    return found


def _lengths(start: Ints, end: Ints, first: Ints) -> Ints:
    """Return the length of the union of each group; ``first`` is where each begins."""
    place = np.zeros(len(start), np.int64)
    place[first[1:]] = 1
    place = np.cumsum(place)
    origin = int(start.min())
    width = int(end.max()) - origin + 1
    if len(first) * width < FAR:
        # Each group gets a stretch of time of its own, and all are measured in one pass.
        shift = place * width - origin
        covered = Coverage.of(start + shift, end + shift).covered
        length: Ints = np.diff(covered[np.append(first[1:], len(covered)) - 1], prepend=0)
        return length
    parts = zip(np.split(start, first[1:]), np.split(end, first[1:]), strict=True)
    return np.array([Coverage.of(*part).covered[-1] for part in parts])
