"""Clock offsets from file to file, along the pairs that end the most collectives together.

Middles over many files find the noise of each, but two groups of files far apart hold each other
in place: the middle of their ends lies between them, and moves by less and less. A chain of pairs
knows no such balance, so that its offsets are what the middles begin with.
"""

from __future__ import annotations

import numpy as np

from nsysflow.job.instances import Members, medians
from nsysflow.job.lanes import Ints

# A file, another, and what is added to the offset of the first for that of the other.
Link = tuple[int, int, int]


def chained(sample: Members, row_trace: Ints, end: Ints, offset: Ints) -> Ints:
    """Return offsets at which files that are linked end together; of each group one file stays.

    Args:
        sample: synchronising ops by instance.
        row_trace: the file of every row.
        end: the end of every row on its file's clock.
        offset: the offsets known before, one per file.
    """
    found = offset.copy()
    near: dict[int, list[tuple[int, int]]] = {}
    for one, other, apart in _tree(_links(sample, row_trace, end), len(offset)):
        near.setdefault(one, []).append((other, apart))
        near.setdefault(other, []).append((one, -apart))
    seen: set[int] = set()
    for root in sorted(near):
        if root in seen:
            continue
        seen.add(root)
        open_files = [root]
        while open_files:
            one = open_files.pop()
            for other, apart in near[one]:
                if other not in seen:
                    seen.add(other)
                    found[other] = found[one] + apart
                    open_files.append(other)
    return found


def _links(sample: Members, row_trace: Ints, end: Ints) -> list[Link]:
    """Return the files that share collectives with the first member, the most shared first."""
    head = sample.first[sample.at]
    one, other = row_trace[head], row_trace
    some = np.flatnonzero(one != other)
    low, high = np.minimum(one, other)[some], np.maximum(one, other)[some]
    apart = (end[head] - end)[some] * np.where(one[some] == low, 1, -1)
    pair, number = np.unique(np.stack([low, high]), axis=1, return_inverse=True)
    number = number.reshape(-1)
    order = np.argsort(number, kind="stable")
    size = np.bincount(number, minlength=pair.shape[1])
    first = np.cumsum(size) - size
    middle = medians(apart[order], number[order], first, size)
    ranked = np.argsort(-size, kind="stable")
    links: list[Link] = list(
        zip(*(column[ranked].tolist() for column in (*pair, middle)), strict=True)
    )
    return links


def _tree(links: list[Link], files: int) -> list[Link]:
    """Return the links that connect files which no link before them does."""
    part = list(range(files))

    def of(file: int) -> int:
        while part[file] != file:
            part[file] = part[part[file]]
            file = part[file]
        return file

    kept = []
    for link in links:
        one, other = of(link[0]), of(link[1])
        if one != other:
            part[max(one, other)] = min(one, other)
            kept.append(link)
    return kept
