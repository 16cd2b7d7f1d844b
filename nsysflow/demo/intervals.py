"""Interval arithmetic on arrays: unions, gaps, and what a list of spans takes of others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from nsysflow.demo.record import Times


def union_ns(start: Times, end: Times, low: int, high: int) -> int:
    """Return how much of [low, high) the intervals cover."""
    start, end = np.clip(start, low, high), np.clip(end, low, high)
    real = end > start
    start, end = start[real], end[real]
    if not start.size:
        return 0
    order = np.argsort(start, kind="stable")
    start, end = start[order], end[order]
    reached = np.maximum.accumulate(end)
    begins = np.maximum(start[1:], reached[:-1])
    return int(end[0] - start[0] + np.maximum(end[1:] - begins, 0).sum())


def gaps(start: Times, end: Times, first: Times, low: int, high: int) -> tuple[Times, Times]:
    """Find the idle gaps of [low, high).

    Args:
        start: interval starts, sorted.
        end: their ends.
        first: running maximum of ``end`` before each interval.
        low: start of the window.
        high: end of the window; something ends there.

    Returns:
        Where each gap opens, and the index of the interval that closes it.
    """
    opens = np.maximum(first, low)
    closing = np.flatnonzero((start > opens) & (start < high) & (end > low))
    return opens[closing], closing


@dataclass
class Pieces:
    """Disjoint sorted intervals that spans are taken from; ``gap`` tells where each came from."""

    start: Times
    end: Times
    gap: Times

    def take(self, low: int, high: int) -> int:
        """Remove [low, high) and return how much of it was there."""
        at = int(np.searchsorted(self.end, low, side="right"))
        to = int(np.searchsorted(self.start, high, side="left"))
        if to <= at or high <= low:
            return 0
        start, end, gap = self.start[at:to], self.end[at:to], self.gap[at:to]
        taken = int((np.minimum(end, high) - np.maximum(start, low)).sum())
        left, right = start < low, end > high
        start = np.concatenate([start[left], np.full(right.sum(), high)])
        end = np.concatenate([np.full(left.sum(), low), end[right]])
        gap = np.concatenate([gap[left], gap[right]])
        self.start = np.concatenate([self.start[:at], start, self.start[to:]])
        self.end = np.concatenate([self.end[:at], end, self.end[to:]])
        self.gap = np.concatenate([self.gap[:at], gap, self.gap[to:]])
        return taken

    def of_gap(self, number: int) -> list[tuple[int, int]]:
        """Return what is left of one gap."""
        here = np.flatnonzero(self.gap == number)
        return [(int(self.start[i]), int(self.end[i])) for i in here]

    def per_gap(self, count: int) -> Times:
        """Return how much is left of each of ``count`` gaps."""
        lengths = (self.end - self.start).astype(np.int64)
        found = np.zeros(count, dtype=np.int64)
        np.add.at(found, self.gap, lengths)
        return found
