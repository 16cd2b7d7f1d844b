"""Which tables of a database can be decoded page by page, and how their columns become fields."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nsysflow.read.pages import Wanted, batches
from nsysflow.read.raw import Field, Request
from nsysflow.read.stream import Batches
from nsysflow.read.tree import Layout, NotPlainError, Numbers, leaf_pages

# Below this SQLite is as quick, and needs no tree to be walked first.
LEAST_BYTES = 4 << 20


@dataclass(frozen=True)
class Stored:
    """A column as ``PRAGMA table_xinfo`` tells it."""

    name: str
    declared: str
    default: object
    key: int
    hidden: int


@dataclass(frozen=True)
class PageTable:
    """A table to be decoded: its file, the first page of its tree, its columns in stored order."""

    path: Path
    root: int
    columns: tuple[Stored, ...]

    def sources(self, request: Request, parts: int) -> list[Batches]:
        """Return what reads the rows, in about equal parts.

        Raises:
            NotPlainError: SQLite has to read this table.
        """
        fields = [field for field in request.fields if self._present(field)]
        places = self._places(fields, request)
        with _opened(self.path) as descriptor:
            layout = Layout.of(descriptor)
            leaves = leaf_pages(descriptor, layout, self.root)
        if len(leaves) * layout.page < LEAST_BYTES:
            raise NotPlainError
        cut = np.array_split(leaves, parts)
        return [partial(self._read, request, fields, places, part) for part in cut]

    def _read(
        self, request: Request, fields: Sequence[Field], places: dict[str, Wanted], part: Numbers
    ) -> Iterator[pa.RecordBatch]:
        names = list(places)
        with _opened(self.path) as descriptor:
            layout = Layout.of(descriptor)
            wanted = list(places.values())
            for arrays in batches(descriptor, layout, part, wanted, len(self.columns)):
                found = dict(zip(names, arrays, strict=True))
                columns = [self._combined(field, found) for field in fields]
                batch = pa.RecordBatch.from_arrays(columns, names=[f.name for f in fields])
                if request.only and request.only.column.lower() in found:
                    cells = found[request.only.column.lower()]
                    batch = batch.filter(pc.is_in(cells, pa.array(request.only.values, pa.int64())))
                yield batch

    def _combined(self, field: Field, found: dict[str, pa.Array]) -> pa.Array:
        cells = [found[name] for name in self._present(field)]
        combined = cells[0]
        for more in cells[1:] if field.combine != "first" else ():
            combine = pc.multiply_checked if field.combine == "product" else pc.add_checked
            try:
                combined = combine(combined, more)
            except pa.ArrowInvalid as error:  # beyond 64 bits
                raise NotPlainError from error
        return combined

    def _present(self, field: Field) -> list[str]:
        names = {column.name.lower() for column in self.columns}
        present = [name.lower() for name in field.columns if name.lower() in names]
        return present[:1] if field.combine == "first" else present

    def _places(self, fields: Sequence[Field], request: Request) -> dict[str, Wanted]:
        """Return where the needed columns stand in a row, by lower-case name."""
        if not fields or not hasattr(os, "preadv") or any(c.hidden for c in self.columns):
            raise NotPlainError
        numbers = {column.name.lower(): place for place, column in enumerate(self.columns)}
        kinds = {name: field.kind for field in fields for name in self._present(field)}
        if request.only and request.only.column.lower() in numbers:
            kinds[request.only.column.lower()] = "BIGINT"
        for name, kind in kinds.items():
            column = self.columns[numbers[name]]
            # A key is its rowid and stored nowhere else; a default stands in for what is not
            # stored; other than integer columns hold numbers in ways of their own.
            plain = not column.key and column.default is None
            if not plain or (kind == "BIGINT" and "INT" not in column.declared.upper()):
                raise NotPlainError
        return {name: Wanted(numbers[name], kinds[name] != "BIGINT") for name in kinds}


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[int]:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
