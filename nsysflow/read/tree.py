"""Walk the tree of a SQLite table to the pages that hold its rows."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Numbers = npt.NDArray[np.int64]

LEAF, _INTERIOR = 0x0D, 0x05
_MOST_DEPTH = 20
# Reading eight bytes at the last cell may reach beyond the last page.
PADDING = 16


class NotPlainError(Exception):
    """The table holds something that only SQLite itself should read."""


@dataclass(frozen=True)
class Layout:
    """What the header of the database says: bytes a page, and how many of them hold content."""

    page: int
    usable: int

    @classmethod
    def of(cls, descriptor: int) -> Layout:
        """Read the header of an opened database."""
        header = os.pread(descriptor, 100, 0)
        page = int.from_bytes(header[16:18], "big")
        page = 65_536 if page == 1 else page
        return cls(page, page - header[20])


def leaf_pages(descriptor: int, layout: Layout, root: int) -> Numbers:
    """Return the numbers of a table's leaf pages, in the order of its rows.

    Raises:
        NotPlainError: it is no table with rowids, or its tree is broken.
    """
    level = np.array([root], np.int64)
    for _ in range(_MOST_DEPTH):
        kinds = {_page(descriptor, layout, int(number))[0] for number in level[[0, -1]]}
        if kinds == {LEAF}:
            return level
        if kinds != {_INTERIOR}:
            raise NotPlainError
        level = np.concatenate([_children(descriptor, layout, int(number)) for number in level])
    raise NotPlainError


def _page(descriptor: int, layout: Layout, number: int) -> bytes:
    content = os.pread(descriptor, layout.page, (number - 1) * layout.page)
    if number == 1 or len(content) < layout.page:  # page 1 begins with the header of the file
        raise NotPlainError
    return content


def _children(descriptor: int, layout: Layout, number: int) -> Numbers:
    content = _page(descriptor, layout, number)
    if content[0] != _INTERIOR:
        raise NotPlainError
    count = int.from_bytes(content[3:5], "big")
    if 12 + 2 * count > layout.page:
        raise NotPlainError
    cells = np.frombuffer(content, ">u2", count, 12).astype(np.int64)
    if count and cells.max() + 4 > layout.page:
        raise NotPlainError
    flat = np.frombuffer(content, np.uint8)
    left = flat[cells[:, None] + np.arange(4)].astype(np.int64) @ (1 << np.array([24, 16, 8, 0]))
    return np.append(left, int.from_bytes(content[8:12], "big"))


def load(descriptor: int, layout: Layout, numbers: Numbers) -> Bytes:
    """Read pages into one buffer; neighbours in the file are read together."""
    buffer = np.empty(len(numbers) * layout.page + PADDING, np.uint8)
    buffer[-PADDING:] = 0
    cuts = np.flatnonzero(np.diff(numbers) != 1) + 1
    starts = [0, *cuts.tolist()]
    for first, last in zip(starts, [*starts[1:], len(numbers)], strict=True):
        target = memoryview(buffer.data)[first * layout.page : last * layout.page]
        offset = (int(numbers[first]) - 1) * layout.page
        if offset <= 0 or os.preadv(descriptor, [target], offset) != len(target):
            raise NotPlainError
    return buffer
