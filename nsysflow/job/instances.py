"""Matched ops grouped by instance, for arithmetic over members."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsysflow.job.lanes import NONE, Flags, Ints, Ops
from nsysflow.job.matching import Matching


@dataclass(frozen=True)
class Members:
    """The matched ops sorted by instance: ``op`` the position in Ops, ``first`` of each instance.

    ``at`` is the instance of every row, ``size`` the members of every instance.
    """

    op: Ints
    at: Ints
    first: Ints
    size: Ints

    @classmethod
    def of(cls, found: Matching, ops: Ops) -> Members:
        """Group the matched ops; every instance has at least two."""
        matched = np.flatnonzero(found.instance != NONE)
        order = matched[np.lexsort((ops["lane"][matched], found.instance[matched]))]
        at = found.instance[order]
        first = np.searchsorted(at, np.arange(found.count))
        size = np.diff(np.append(first, len(at)))
        return cls(order, at, first, size)

    def most(self, values: Ints) -> Ints:
        """Return the largest value of each instance."""
        return self._over(np.maximum, values)

    def least(self, values: Ints) -> Ints:
        """Return the smallest value of each instance."""
        return self._over(np.minimum, values)

    def _over(self, ufunc: np.ufunc, values: Ints) -> Ints:
        if not len(self.first):
            return np.empty(0, np.int64)
        found: Ints = ufunc.reduceat(values, self.first)
        return found

    def median(self, values: Ints) -> Ints:
        """Return the median of each instance, of an even number the mean of the middle two."""
        return medians(values, self.at, self.first, self.size)

    def others(self, values: Ints) -> Ints:
        """Return for every row the median of the other members' values."""
        order = np.lexsort((values, self.at))
        ordered = values[order]
        place = np.empty(len(values), np.int64)
        place[order] = np.arange(len(values)) - self.first[self.at[order]]
        first, rest = self.first[self.at], self.size[self.at] - 1

        def nth(k: Ints) -> Ints:
            # Leaving one out moves all behind it up by one.
            found: Ints = ordered[first + k + (k >= place)]
            return found

        low, high = nth((rest - 1) // 2), nth(rest // 2)
        return low + (high - low) // 2

    def take(self, some: Flags) -> Members:
        """Return only some instances, numbered anew."""
        rows = some[self.at]
        number = np.cumsum(some) - 1
        at = number[self.at[rows]]
        size = self.size[some]
        first = np.concatenate([[0], np.cumsum(size)[:-1]]) if len(size) else size
        return Members(self.op[rows], at, first, size)


def medians(values: Ints, at: Ints, first: Ints, size: Ints) -> Ints:
    """Return the median of the values of each number ``at``, which rows come sorted by."""
    if not len(first):
        return np.empty(0, np.int64)
    ordered = values[np.lexsort((values, at))]
    low, high = ordered[first + (size - 1) // 2], ordered[first + size // 2]
    middle: Ints = low + (high - low) // 2
    return middle
