"""Decode the leaf pages of a SQLite table with numpy: the quick way for tables of millions of rows.

Whole pages become columns without a row ever being a Python or a SQLite object, two to three
times as fast as the driver. It knows plain tables only. Whatever else it meets (rows on overflow
pages, a cell that is no integer) it refuses, and the table is read again through SQLite. The file
format: https://www.sqlite.org/fileformat2.html
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nsysflow.read.tree import LEAF, PADDING, Bytes, Layout, NotPlainError, Numbers, load

# One serial type, or size, a row; or one for all of them.
Types = int | npt.NDArray[np.integer[Any]]

# Pages decoded together: some hundred thousand rows, which stay in the processor's cache.
_CHUNK_BYTES = 4 << 20
# Serial types: NULL, integers of 1 to 8 bytes, a real, the integers 0 and 1, two that are
# reserved, then bytes and text of any length.
_SIZES = np.array([0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0], np.int64)
_SHIFTS = np.array([0, 56, 48, 40, 32, 16, 0, 0, 0, 0, 0, 0], np.int64)
_REAL, _ZERO, _ONE, _FIRST_BYTES = 7, 8, 9, 12
_RESERVED = (10, 11)
_VARINT = 0x80
_LONGEST_ROWID = 9


@dataclass(frozen=True)
class Wanted:
    """One column to decode: its place in the table, and whether as bytes instead of integers."""

    place: int
    as_bytes: bool


def batches(
    descriptor: int,
    layout: Layout,
    leaves: Numbers,
    wanted: Sequence[Wanted],
    columns: int,
) -> Iterator[list[pa.Array]]:
    """Yield the wanted columns of the rows on these leaf pages, some pages at a time.

    ``columns`` is how many the table has; rows written before the last were added may have fewer,
    and hold NULL there.

    Raises:
        NotPlainError: see the module.
    """
    at_once = max(1, _CHUNK_BYTES // layout.page)
    for first in range(0, len(leaves), at_once):
        part = leaves[first : first + at_once]
        try:
            rows = _Rows(load(descriptor, layout, part), layout)
            decoded = rows.columns(wanted, columns) if rows.count else None
        except IndexError as error:  # a length that points out of the pages
            raise NotPlainError from error
        if decoded:
            yield decoded


class _Rows:
    """The rows on a few pages. Positions are bytes in the buffer, one array entry a row."""

    def __init__(self, buffer: Bytes, layout: Layout) -> None:
        self._bytes = buffer
        pages = np.arange(0, len(buffer) - PADDING, layout.page)
        if (buffer[pages] != LEAF).any():
            raise NotPlainError
        counts = self._short(pages + 3)
        if (counts * 2 + 8 > layout.usable).any():
            raise NotPlainError
        self.count = int(counts.sum())
        page = np.repeat(pages, counts)
        before = np.repeat(np.cumsum(counts) - counts, counts)
        cell = page + self._short(page + 8 + 2 * (np.arange(self.count) - before))
        self._find(cell, page + layout.usable, layout)

    def _find(self, cell: Numbers, ends: Numbers, layout: Layout) -> None:
        """Find where each row's types and values begin, and check that it ends on its page."""
        buffer = self._bytes
        if (cell >= ends - 2).any():
            raise NotPlainError
        length = buffer[cell].astype(np.int64)
        position = cell + 1
        long = length >= _VARINT
        if long.any():
            length, bad = _two_bytes(length, buffer[position])
            position += long
            if bad:
                raise NotPlainError
        if (length > layout.usable - 35).any():  # the rest of the row is on another page
            raise NotPlainError
        header = self._after_rowid(position)
        if (header + length > ends).any() or (length < 1).any():
            raise NotPlainError
        size = buffer[header]
        if (size >= _VARINT).any() or (size > length).any() or (size < 1).any():
            raise NotPlainError
        self._types_at = header + 1
        self._types = size - 1
        self._value_at = header + size
        self._end = header + length

    def _after_rowid(self, position: Numbers) -> Numbers:
        buffer = self._bytes
        more = buffer[position] >= _VARINT
        for _ in range(_LONGEST_ROWID - 1):
            if not more.any():
                break
            position += more
            more &= buffer[position] >= _VARINT
        return position + 1

    def columns(self, wanted: Sequence[Wanted], columns: int) -> list[pa.Array]:
        """Return the wanted columns."""
        found: dict[int, pa.Array] = {}
        places = {item.place: item.as_bytes for item in wanted}
        if max(places) >= columns:
            raise NotPlainError
        # What all rows have in common so far is kept as one number: most columns of a table have
        # one type in most batches.
        self._ahead = 0
        types = self._all_types()
        for place in range(max(places) + 1):
            kinds = next(types)
            sizes = _sizes_of(kinds)
            if place in places:
                decode = self._binary if places[place] else self._integers
                found[place] = decode(kinds, sizes)
            if isinstance(sizes, int):
                self._ahead += sizes
            else:
                self._value_at = self._value_at + sizes
        if (self._value_at + self._ahead > self._end).any():
            raise NotPlainError
        return [found[item.place] for item in wanted]

    def _all_types(self) -> Iterator[Types]:
        """Yield the serial types column by column, as one number where all rows agree."""
        shortest, place = int(self._types.min()), 0
        while True:
            if place % 8 == 0:
                # Eight types at once: fetching from everywhere is what costs.
                eight = _words(self._bytes, "<i8")[self._types_at + place]
            kinds: Bytes = (eight >> (8 * (place % 8))).astype(np.uint8)
            if place >= shortest:
                kinds *= self._types > place
            if int(kinds.max()) >= _VARINT:
                break
            yield _agreed(kinds)
            place += 1
        # From here on the types of some rows take two bytes, so rows no longer keep step.
        at, end = self._types_at + place, self._types_at + self._types
        while True:
            wide: Numbers = np.where(at < end, self._bytes[at], 0).astype(np.int64)
            step = (at < end).astype(np.int64)
            if int(wide.max()) >= _VARINT:
                step += wide >= _VARINT
                wide, bad = _two_bytes(wide, self._bytes[at + 1])
                if bad:
                    raise NotPlainError
            at = at + step
            yield _agreed(wide)

    def _integers(self, kinds: Types, sizes: Types) -> pa.Array:
        if isinstance(kinds, int) and isinstance(sizes, int):
            if kinds == 0:
                return pa.nulls(self.count, pa.int64())
            if kinds >= _FIRST_BYTES or kinds == _REAL:
                raise NotPlainError
            if sizes == 0:
                return pa.array(np.full(self.count, int(kinds == _ONE), np.int64))
            return pa.array(self._eight() >> (64 - 8 * sizes))
        kinds = np.asarray(kinds)
        if int(kinds.max()) >= _FIRST_BYTES or (kinds == _REAL).any():
            raise NotPlainError
        # A value stands at the high end of the eight bytes that begin with it.
        values = self._eight() >> _SHIFTS.take(kinds)
        if int(kinds.max()) >= _ZERO:
            values = np.where(kinds >= _ZERO, kinds == _ONE, values)
        absent = kinds == 0
        return pa.array(values, mask=absent if absent.any() else None)

    def _eight(self) -> Numbers:
        words = _words(self._bytes[self._ahead :], ">i8")
        values: Numbers = words[self._value_at].astype(np.int64)
        return values

    def _binary(self, kinds: Types, sizes: Types) -> pa.Array:
        if isinstance(kinds, int) and kinds == 0:
            return pa.nulls(self.count, pa.binary())
        kinds = np.broadcast_to(kinds, (self.count,))
        absent = kinds == 0
        if ((kinds < _FIRST_BYTES) & ~absent).any():  # a number where text is meant
            raise NotPlainError
        begin = self._value_at + self._ahead
        if (begin + sizes > self._end).any():
            raise NotPlainError
        offsets = np.zeros(self.count + 1, np.int64)
        np.cumsum(np.broadcast_to(sizes, (self.count,)), out=offsets[1:])
        total = int(offsets[-1])
        # Byte n of the result is byte n - offset of its row.
        source = np.repeat(begin - offsets[:-1], sizes) + np.arange(total)
        bits = np.packbits(~absent, bitorder="little") if absent.any() else None
        buffers = [
            None if bits is None else pa.py_buffer(bits),
            pa.py_buffer(offsets.astype(np.int32)),
            pa.py_buffer(self._bytes[source]),
        ]
        return pa.Array.from_buffers(pa.binary(), self.count, buffers)

    def _short(self, position: Numbers) -> Numbers:
        """Return the 16-bit numbers at these positions."""
        high = self._bytes[position].astype(np.int64)
        return (high << 8) | self._bytes[position + 1]


def _words(buffer: Bytes, kind: str) -> Numbers:
    """See every eight bytes of a buffer, at any position, as a number."""
    return np.lib.stride_tricks.as_strided(
        buffer[:8].view(kind), (len(buffer) - 7,), (1,), writeable=False
    )


def _two_bytes(first: Numbers, second: Bytes) -> tuple[Numbers, bool]:
    """Return numbers of one or two bytes, and whether one of them is longer still."""
    long = first >= _VARINT
    bad = bool((long & (second >= _VARINT)).any())
    return np.where(long, ((first & 127) << 7) | second, first), bad


def _agreed(kinds: Bytes | Numbers) -> Types:
    low, high = int(kinds.min()), int(kinds.max())
    if low == high:
        if high in _RESERVED:
            raise NotPlainError
        return high
    if high >= _FIRST_BYTES - 2 and any((kinds == bad).any() for bad in _RESERVED):
        raise NotPlainError
    return kinds


def _sizes_of(kinds: Types) -> Types:
    if isinstance(kinds, int):
        return int(_SIZES[kinds]) if kinds < _FIRST_BYTES else (kinds - _FIRST_BYTES) >> 1
    if int(kinds.max()) < _FIRST_BYTES:
        return _SIZES.take(kinds)
    wide = kinds.astype(np.int64)
    return np.where(wide < _FIRST_BYTES, _SIZES.take(np.minimum(wide, 9)), (wide - 12) >> 1)
