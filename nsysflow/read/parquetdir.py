"""Read a parquetdir export: one Parquet file per table, ids unsigned, read by DuckDB itself."""

# ruff: noqa: S608  names from a file are quoted wherever they stand in a statement

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nsysflow.errors import InputError
from nsysflow.parquet_files import source
from nsysflow.read.raw import ARROW, USUAL, Field, Presence, RawTrace, Request, View, shaped
from nsysflow.read.stream import Merged

if TYPE_CHECKING:
    import duckdb

_SUFFIX = ".parquet"
_BATCH_ROWS = 65_536
_UNSIGNED_64 = pa.uint64()
_WRAP = 1 << 64
_NANOSECONDS = (pa.timestamp("ns"), pa.duration("ns"))


class ParquetTrace(RawTrace):
    """A folder of Parquet files, told apart by their names."""

    def __init__(self, folder: Path, file: str) -> None:
        """Read the footers.

        Raises:
            InputError: the folder holds no table, or one of them is no whole Parquet file.
        """
        self._paths: dict[str, Path] = {}
        self._schemas: dict[str, pa.Schema] = {}
        self._rows: dict[str, int] = {}
        tables = {}
        for path in _members(folder, file):
            table = path.name[: -len(_SUFFIX)]
            schema, rows = _footer(path, file)
            self._paths[table.lower()], self._rows[table.lower()] = path, rows
            self._schemas[table.lower()] = schema
            tables[table.lower()] = Presence(table, {name.lower(): name for name in schema.names})
        super().__init__(file, tables)

    def filled(self, table: str) -> bool:
        """Return whether the table has a row."""
        return self.count(table) > 0

    def count(self, table: str) -> int:
        """Return the number of rows of a table, 0 if it is absent."""
        return self._rows.get(table.lower(), 0)

    @contextlib.contextmanager
    def _open(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        request: Request,
        view: View,
        way: int,
    ) -> Iterator[None]:
        if way != USUAL or request.through or not self._simple(request):
            opened = self._stream(connection, name, request, view)
        else:
            opened = self._native(connection, name, request, view)
        with opened:
            yield

    @contextlib.contextmanager
    def _native(
        self, connection: duckdb.DuckDBPyConnection, name: str, request: Request, view: View
    ) -> Iterator[None]:
        rows = source([self._paths[request.table.lower()]])
        columns = ", ".join(self._column(request.table, wanted) for wanted in request.fields)
        where = ""
        if request.only and self.has(request.table, request.only.column):
            values = ", ".join(map(str, request.only.values))
            column = _quoted(self._name(request.table, request.only.column))
            where = f" WHERE {column} IN ({values})"
        connection.execute(
            f"CREATE OR REPLACE TEMP VIEW {name} AS SELECT {columns} FROM {rows}{where}"
        )
        try:
            yield
        except Exception:
            # Text that is no UTF-8, or a page that is no Parquet: the careful way tells which.
            view.trouble = True
            raise
        finally:
            view.rows = self.count(request.table)
            connection.execute(f"DROP VIEW IF EXISTS {name}")

    @contextlib.contextmanager
    def _stream(
        self, connection: duckdb.DuckDBPyConnection, name: str, request: Request, view: View
    ) -> Iterator[None]:
        source = lambda: self._batches(request)  # noqa: E731
        with Merged(request.schema(), [source]) as merged:
            connection.register(name, merged.reader())
            try:
                yield
            finally:
                connection.unregister(name)
                view.rows = merged.rows
                if isinstance(merged.error, (OSError, pa.ArrowException)):
                    view.failure = _broken(
                        self._paths[request.table.lower()], self.file, merged.error
                    )

    def _simple(self, request: Request) -> bool:
        """Return whether DuckDB can convert every column by itself."""
        return all(
            _is_simple(self._type(request.table, column), wanted.kind)
            for wanted in request.fields
            for column in wanted.columns
            if self.has(request.table, column)
        )

    def _column(self, table: str, wanted: Field) -> str:
        present = [column for column in wanted.columns if self.has(table, column)]
        if not present:
            return f"NULL::{wanted.kind} AS {_quoted(wanted.name)}"
        if wanted.combine != "first":
            cells = [f"{self._converted(table, c, wanted)}::HUGEINT" for c in present]
            joined = (" * " if wanted.combine == "product" else " + ").join(cells)
            return f"TRY_CAST({joined} AS BIGINT) AS {_quoted(wanted.name)}"
        return f"{self._converted(table, present[0], wanted)} AS {_quoted(wanted.name)}"

    def _converted(self, table: str, column: str, wanted: Field) -> str:
        quoted = _quoted(self._name(table, column))
        if self._type(table, column) == _UNSIGNED_64 and wanted.kind == "BIGINT":
            wrapped = f"({quoted}::HUGEINT - {_WRAP})::BIGINT"
            return f"CASE WHEN {quoted} >= {_WRAP // 2} THEN {wrapped} ELSE {quoted}::BIGINT END"
        return f"{quoted}::{wanted.kind}"

    def _batches(self, request: Request) -> Iterator[pa.RecordBatch]:
        needed = {
            self._name(request.table, column)
            for wanted in request.fields
            for column in wanted.columns
            if self.has(request.table, column)
        }
        only = (
            request.only if request.only and self.has(request.table, request.only.column) else None
        )
        if only:
            needed.add(self._name(request.table, only.column))
        with pq.ParquetFile(self._paths[request.table.lower()]) as stored:
            for batch in stored.iter_batches(_BATCH_ROWS, columns=sorted(needed)):
                kept = batch
                if only:
                    cells = self._integers(batch, request.table, only.column)
                    kept = batch.filter(pc.is_in(cells, pa.array(only.values, pa.int64())))
                columns = [self._array(kept, request.table, wanted) for wanted in request.fields]
                named = pa.RecordBatch.from_arrays(columns, names=[f.name for f in request.fields])
                yield shaped(named, request, self.strays)

    def _array(self, batch: pa.RecordBatch, table: str, wanted: Field) -> pa.Array:
        present = [column for column in wanted.columns if self.has(table, column)]
        if not present:
            return pa.nulls(batch.num_rows, ARROW[wanted.kind])
        if wanted.kind != "BIGINT":
            return _texts_or_bytes(batch.column(self._name(table, present[0])), wanted.kind)
        cells = [self._integers(batch, table, column) for column in present]
        combined = cells[0]
        for more in cells[1:] if wanted.combine != "first" else ():
            combine = pc.multiply if wanted.combine == "product" else pc.add
            combined = combine(combined, more)
        return combined

    def _integers(self, batch: pa.RecordBatch, table: str, column: str) -> pa.Array:
        """Return a column as signed integers; what is none is NULL and counted."""
        cells = batch.column(self._name(table, column))
        if pa.types.is_dictionary(cells.type):
            cells = cells.dictionary_decode()
        if cells.type == _UNSIGNED_64:
            return cells.view(pa.int64())
        if pa.types.is_integer(cells.type) or pa.types.is_null(cells.type):
            return cells.cast(pa.int64())
        if cells.type in _NANOSECONDS:
            # A program that wrote the table again took the numbers for times.
            return cells.view(pa.int64())
        values = [_integer(value) for value in cells.to_pylist()]
        lost = sum(value is None for value in values) - cells.null_count
        self.strays.add("non_integer_cells", lost)
        return pa.array(values, pa.int64())

    def _name(self, table: str, column: str) -> str:
        return self._tables[table.lower()].columns[column.lower()]

    def _type(self, table: str, column: str) -> pa.DataType:
        return self._schemas[table.lower()].field(self._name(table, column)).type


def _is_simple(held: pa.DataType, kind: str) -> bool:
    if kind == "BIGINT":
        return bool(pa.types.is_integer(held) or pa.types.is_null(held))
    if kind == "VARCHAR":
        return bool(pa.types.is_string(held) or pa.types.is_large_string(held))
    return bool(pa.types.is_binary(held))


def _texts_or_bytes(cells: pa.Array, kind: str) -> pa.Array:
    """Return a column as it stands, or without a value where it can hold none of this kind."""
    if pa.types.is_nested(cells.type):
        return pa.nulls(len(cells), ARROW[kind])
    if kind == "VARCHAR":
        return cells
    try:
        return cells.cast(pa.binary())
    except pa.ArrowNotImplementedError:
        return pa.nulls(len(cells), pa.binary())


def _integer(value: object) -> int | None:
    try:
        number = int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    same = number == value or str(number) == value
    return number if same and -(1 << 63) <= number < 1 << 63 else None


def _members(folder: Path, file: str) -> list[Path]:
    try:
        members = sorted(path for path in folder.iterdir() if path.name.endswith(_SUFFIX))
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read: {error.strerror}", stage="open", hint="check its permissions"
        ) from error
    if not members:
        raise InputError(
            f"{file}: holds no Parquet file", stage="open", hint="export the report again"
        )
    return members


def _footer(path: Path, file: str) -> tuple[pa.Schema, int]:
    try:
        with pq.ParquetFile(path) as stored:
            return stored.schema_arrow, stored.metadata.num_rows
    except (OSError, pa.ArrowException) as error:
        raise _broken(path, file, error) from error


def _broken(path: Path, file: str, error: Exception) -> InputError:
    said = str(error).splitlines()[0] if str(error) else type(error).__name__
    return InputError(
        f"{file}: {path.name} cannot be read as Parquet: {said}",
        stage="open",
        hint="copy or export the folder again",
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
