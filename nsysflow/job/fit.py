"""Fit clock offsets and drift to the ends of matched collectives."""

from __future__ import annotations

import numpy as np

from nsysflow.job.chain import chained
from nsysflow.job.instances import Members, medians
from nsysflow.job.lanes import Ints

ROUNDS = 60
FINE = 64
MOST_SLOPES = 300


def fit_offsets(sample: Members, row_trace: Ints, end: Ints, offset: Ints) -> Ints:
    """Return the offsets, starting from ``offset`` and the chain of pairs.

    Alternates: the middle of each instance's ends, then each file's middle distance to it.
    """
    offset = chained(sample, row_trace, end, offset)
    order = np.argsort(row_trace, kind="stable")
    by_trace = row_trace[order]
    present, first, size = np.unique(by_trace, return_index=True, return_counts=True)
    number = np.searchsorted(present, by_trace)
    moved = end + offset[row_trace]
    # Middles of two lie between whole numbers: parts of a nanosecond keep them apart.
    base = int(moved.min())
    fine = FINE if int(moved.max()) - base < np.iinfo(np.int64).max // (4 * FINE) else 1
    moved = (moved - base) * fine
    total = np.zeros(len(offset), np.int64)
    for _ in range(ROUNDS):
        short = sample.median(moved)[sample.at] - moved
        step = np.zeros(len(offset), np.int64)
        step[present] = medians(short[order], number, first, size)
        moved = moved + step[row_trace]
        total += step
        # Steps far below the ends' own spread only follow its noise.
        if np.abs(step).max() <= max(1, int(np.median(np.abs(short))) // 50):
            break
    # Offsets matter against each other: rounding them against one keeps whole distances whole.
    total -= total[present[0]]
    fitted: Ints = offset + np.rint(total / fine).astype(np.int64)
    return fitted


def theil_sen(time: Ints, error: Ints) -> float:
    """Return the median slope over pairs of points."""
    some = np.unique(np.linspace(0, len(time) - 1, MOST_SLOPES).astype(np.int64))
    time, error = time[some].astype(np.float64), error[some].astype(np.float64)
    first, second = np.triu_indices(len(time), 1)
    apart = time[second] - time[first]
    some_apart = apart != 0
    slopes = (error[second] - error[first])[some_apart] / apart[some_apart]
    return float(np.median(slopes)) if len(slopes) else 0.0
