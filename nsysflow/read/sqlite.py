"""Read a SQLite export: Arrow streams, the needed columns only, the input never touched.

SQLite is asked in URI form with ``immutable=1``: no lock, no side file. A statement begins with a
row of its own, of the wanted types, because the driver types each column by the first rows it
sees; that row is cut off again.
"""

# ruff: noqa: S608  a name from the catalogue is quoted wherever it stands in a statement

from __future__ import annotations

import contextlib
import os
import sqlite3
import sys
from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import adbc_driver_sqlite.dbapi
import pyarrow as pa

from nsysflow.errors import InputError
from nsysflow.read.raw import (
    CAREFUL,
    Field,
    MixedTypesError,
    Presence,
    RawTrace,
    Request,
    View,
    shaped,
)
from nsysflow.read.stream import Merged

if TYPE_CHECKING:
    import duckdb

# Numbers stream best in large batches; a batch of texts may hold kilobytes a row.
_NUMBER_ROWS, _TEXT_ROWS = 65_536, 16_384
# Below this a second reader costs more than it saves.
_ROWS_WORTH_A_THREAD = 250_000
# Rows that tell what a table is like.
_SAMPLES = 500
# A crafted schema can make even a small question endless.
_MOST_STEPS = 50_000_000
# A virtual table has no root page: reading one would run code of the file's choosing.
_TABLES = "SELECT name FROM main.sqlite_master WHERE type = 'table' AND rootpage > 0"


class SqliteTrace(RawTrace):
    """A SQLite export that passed the checks of ``nsysflow.read.header``."""

    def __init__(self, path: Path, file: str, threads: int) -> None:
        """Read the catalogue; ``threads`` read one table together.

        Raises:
            InputError: the catalogue cannot be read.
        """
        self._uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&immutable=1"
        self._threads = threads
        self._counted: set[tuple[str, str]] = set()
        try:
            with self._catalogue() as catalogue:
                names = [_text(name) for (name,) in catalogue.execute(_TABLES)]
                tables = {name.lower(): _presence(catalogue, name) for name in names}
                self._encoding = _text(catalogue.execute("PRAGMA encoding").fetchone()[0])
        except (sqlite3.Error, UnicodeError) as error:
            raise unreadable(file, error) from error
        super().__init__(file, tables)

    def filled(self, table: str) -> bool:
        """Return whether the table has a row."""
        return self.has(table) and self._number(f"SELECT 1 FROM main.{_quoted(table)} LIMIT 1") == 1

    def count(self, table: str) -> int:
        """Return the number of rows of a table, 0 if it is absent."""
        if not self.has(table):
            return 0
        return self._number(f"SELECT count(*) FROM main.{_quoted(table)}") or 0

    def sample(self, table: str, least: int, *columns: str) -> list[tuple[Any, ...]]:
        """Return some rows of a table of ``least`` rows or more, as they lie in it."""
        rowid = self._rowid(table)
        asked = all(self.has(table, column) for column in columns)
        span = self._span(table, rowid) if rowid and asked else None
        if span is None or not least <= span[1] - span[0] + 1 <= sys.maxsize:
            return []
        names = ", ".join(map(_quoted, columns))
        row = (
            f"SELECT {names} FROM main.{_quoted(table)} WHERE {rowid} >= ? ORDER BY {rowid} LIMIT 1"
        )
        everything = range(span[0], span[1] + 1)
        # Evenly spaced, rows of threads that take turns could be all of one.
        chance = Random(0)  # noqa: S311 - the same rows every time
        places = sorted(chance.sample(everything, min(_SAMPLES, len(everything))))
        try:
            with self._catalogue() as catalogue:
                return [cells for at in places for cells in catalogue.execute(row, (at,))]
        except sqlite3.Error as error:
            raise unreadable(self.file, error) from error

    @contextlib.contextmanager
    def _open(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        request: Request,
        view: View,
        way: int,
    ) -> Iterator[None]:
        if way == CAREFUL:
            self._count_strays(request)
        statements = self._statements(request, careful=way == CAREFUL)
        sources = [partial(self._batches, statement, request) for statement in statements]
        with Merged(request.schema(), sources) as merged:
            connection.register(name, merged.reader())
            try:
                yield
            finally:
                connection.unregister(name)
                view.rows = merged.rows
                view.trouble = isinstance(merged.error, MixedTypesError)
                if isinstance(merged.error, (OSError, sqlite3.Error)):
                    view.failure = unreadable(self.file, merged.error)

    def _shaped(self, batch: pa.RecordBatch, request: Request) -> pa.RecordBatch:
        return shaped(self._decoded(batch), request, self.strays)

    def _statements(self, request: Request, *, careful: bool) -> list[str]:
        parts = self._parts(request.table)
        return [self._statement(request, part, careful=careful) for part in parts]

    def _statement(self, request: Request, part: str, *, careful: bool) -> str:
        present = [f for f in request.fields if self._holds(request.table, f)]
        typed = ", ".join(_typed(f) for f in present) or "0"
        cells = (self._column(request.table, f, careful=careful) for f in present)
        columns = ", ".join(cells) or "0"
        where = [part] if part else []
        if request.only and self.has(request.table, request.only.column):
            values = ", ".join(map(str, request.only.values))
            where.append(f"{_quoted(request.only.column)} IN ({values})")
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        rows = f"SELECT {columns} FROM main.{_quoted(request.table)}{condition}"
        return f"SELECT {typed} UNION ALL {rows}"

    def _holds(self, table: str, wanted: Field) -> bool:
        return any(self.has(table, column) for column in wanted.columns)

    def _column(self, table: str, wanted: Field, *, careful: bool) -> str:
        present = [_quoted(column) for column in wanted.columns if self.has(table, column)]
        if wanted.kind != "BIGINT":
            # As bytes, a cell comes whole and in any storage class.
            return f"CAST({present[0]} AS BLOB)"
        cells = [_integer_of(column) if careful else column for column in present]
        if wanted.combine == "first":
            return cells[0]
        combined = (" * " if wanted.combine == "product" else " + ").join(cells)
        return _integer_of(f"({combined})") if careful else combined

    def _parts(self, table: str) -> list[str]:
        """Return conditions that cut the table in parts of about equal size."""
        rowid = self._rowid(table)
        span = self._span(table, rowid) if rowid and self._threads > 1 else None
        if span is None or span[1] - span[0] < self._threads * _ROWS_WORTH_A_THREAD:
            return [""]
        first, last = span
        cuts = [first + (last - first) * n // self._threads for n in range(1, self._threads)]
        middle = [f"{rowid} > {a} AND {rowid} <= {b}" for a, b in pairwise(cuts)]
        return [f"{rowid} <= {cuts[0]}", *middle, f"{rowid} > {cuts[-1]}"]

    def _rowid(self, table: str) -> str | None:
        return next((n for n in ("rowid", "_rowid_", "oid") if not self.has(table, n)), None)

    def _span(self, table: str, rowid: str) -> tuple[int, int] | None:
        quoted = f"main.{_quoted(table)}"
        first = self._number(f"SELECT min({rowid}) FROM {quoted}", quiet="no such column")
        last = self._number(f"SELECT max({rowid}) FROM {quoted}", quiet="no such column")
        return None if first is None or last is None else (first, last)

    def _batches(self, statement: str, request: Request) -> Iterator[pa.RecordBatch]:
        texts = any(wanted.kind != "BIGINT" for wanted in request.fields)
        rows = _TEXT_ROWS if texts else _NUMBER_ROWS
        with (
            contextlib.closing(adbc_driver_sqlite.dbapi.connect(self._uri)) as connection,
            contextlib.closing(connection.cursor()) as cursor,
        ):
            cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": str(rows)})
            first = True
            try:
                cursor.execute(statement)
                for batch in cursor.fetch_record_batch():
                    yield self._shaped(batch[1:] if first else batch, request)
                    first = False
            except (OSError, adbc_driver_sqlite.dbapi.Error) as error:
                if "Type mismatch" in str(error):
                    raise MixedTypesError(str(error)) from error
                raise OSError(str(error)) from error

    def _decoded(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Turn the bytes of a UTF-16 database into UTF-8."""
        if self._encoding == "UTF-8":
            return batch
        columns = [
            pa.array([_recoded(v, self._encoding) for v in column.to_pylist()], pa.binary())
            if pa.types.is_binary(column.type)
            else column
            for column in batch.columns
        ]
        return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)

    def _count_strays(self, request: Request) -> None:
        """Count the cells of the wanted integer columns that hold something else, once each."""
        wanted = {c for f in request.fields if f.kind == "BIGINT" for c in f.columns}
        columns = {(request.table, c) for c in wanted if self.has(request.table, c)} - self._counted
        if not columns:
            return
        self._counted |= columns
        terms = " + ".join(
            f"(typeof({_quoted(column)}) NOT IN ('integer', 'null'))" for _, column in columns
        )
        found = self._number(f"SELECT sum({terms}) FROM main.{_quoted(request.table)}")
        self.strays.add("non_integer_cells", found or 0)

    def _number(self, question: str, quiet: str = "\0") -> int | None:
        """Return the one number asked for, None if there is none or the error says ``quiet``."""
        try:
            with self._catalogue(steps=None) as catalogue:
                row = catalogue.execute(question).fetchone()
        except (sqlite3.Error, UnicodeError) as error:
            if quiet in str(error):
                return None
            raise unreadable(self.file, error) from error
        return None if row is None or row[0] is None else int(row[0])

    @contextlib.contextmanager
    def _catalogue(self, steps: int | None = _MOST_STEPS) -> Iterator[sqlite3.Connection]:
        connection = sqlite3.connect(self._uri, uri=True)
        try:
            connection.text_factory = bytes
            if steps:
                connection.set_progress_handler(lambda: 1, steps)
            yield connection
        finally:
            connection.close()


def unreadable(file: str, error: Exception) -> InputError:
    """Return the one line for a database that breaks while it is read."""
    lines = str(error).splitlines() or [type(error).__name__]
    said = lines[0].removeprefix("[SQLite] ")
    if isinstance(error, UnicodeError):
        said = "the names of its tables are damaged"
    return InputError(
        f"{file}: cannot be read as SQLite: {said}",
        stage="open",
        hint="copy or export it again",
    )


def _presence(catalogue: sqlite3.Connection, table: str) -> Presence:
    rows = catalogue.execute(f"PRAGMA main.table_xinfo({_quoted(table)})")
    # Generated columns compute what a crafted file likes.
    names = [_text(name) for _, name, *_, hidden in rows if not hidden]
    return Presence(table, {name.lower(): name for name in names})


def _typed(wanted: Field) -> str:
    value = "0" if wanted.kind == "BIGINT" else "x''"
    return f"{value} AS {_quoted(wanted.name)}"


def _integer_of(expression: str) -> str:
    """Return SQL for the integer that a cell holds, also where a retyped column made it text."""
    return (
        f"CASE typeof({expression}) WHEN 'integer' THEN {expression}"
        f" WHEN 'text' THEN CASE WHEN CAST(CAST({expression} AS INTEGER) AS TEXT) = {expression}"
        f" THEN CAST({expression} AS INTEGER) END"
        f" WHEN 'real' THEN CASE WHEN abs({expression}) < 9007199254740992"
        f" AND CAST({expression} AS INTEGER) = {expression}"
        f" THEN CAST({expression} AS INTEGER) END END"
    )


def _recoded(value: bytes | None, encoding: str) -> bytes | None:
    return None if value is None else value.decode(encoding, "replace").encode("utf-8")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _text(value: object) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
