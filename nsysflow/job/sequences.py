"""Align sequences of collectives that should be the same on every rank and are not."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

# Beyond, aligning what differs would cost more than it tells.
MOST_CELLS = 4_000_000


def common(a: Sequence[int], b: Sequence[int], *, from_end: bool = False) -> list[tuple[int, int]]:
    """Return positions in ``a`` and ``b`` of a longest common subsequence.

    Equal beginnings are taken first (equal ends first with ``from_end``), so that of repeating
    sequences the ones nearest to the known edge are paired. Empty where the differing middle is
    too long to align.
    """
    if from_end:
        pairs = common(a[::-1], b[::-1])
        return [(len(a) - 1 - i, len(b) - 1 - j) for i, j in reversed(pairs)]
    head = 0
    while head < min(len(a), len(b)) and a[head] == b[head]:
        head += 1
    tail = 0
    while tail < min(len(a), len(b)) - head and a[-1 - tail] == b[-1 - tail]:
        tail += 1
    middle = _middle(a[head : len(a) - tail], b[head : len(b) - tail])
    return [
        *((i, i) for i in range(head)),
        *((head + i, head + j) for i, j in middle),
        *((len(a) - tail + k, len(b) - tail + k) for k in range(tail)),
    ]


def _middle(a: Sequence[int], b: Sequence[int]) -> list[tuple[int, int]]:
    if not a or not b or len(a) * len(b) > MOST_CELLS:
        return []
    width = np.asarray(b)
    longest = np.zeros((len(a) + 1, len(b) + 1), np.int32)
    for i in range(len(a) - 1, -1, -1):
        taken = np.where(width == a[i], longest[i + 1, 1:] + 1, longest[i + 1, :-1])
        # A cell is the best of its own and all to its right: a running maximum from the end.
        longest[i, :-1] = np.maximum.accumulate(taken[::-1])[::-1]
    pairs, i, j = [], 0, 0
    while i < len(a) and j < len(b):
        if a[i] == b[j] and longest[i, j] == longest[i + 1, j + 1] + 1:
            pairs.append((i, j))
            i, j = i + 1, j + 1
        elif longest[i + 1, j] >= longest[i, j + 1]:
            i += 1
        else:
            j += 1
    return pairs
