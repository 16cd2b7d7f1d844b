"""What a raw trace offers whatever its form: tables, columns, and their rows as DuckDB views."""

from __future__ import annotations

import contextlib
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import pyarrow as pa

from nsysflow import interrupt
from nsysflow.read.text import readable

if TYPE_CHECKING:
    import duckdb

_Made = TypeVar("_Made")
Kind = Literal["BIGINT", "VARCHAR", "BLOB"]
ARROW = {"BIGINT": pa.int64(), "VARCHAR": pa.string(), "BLOB": pa.binary()}


@dataclass(frozen=True)
class Field:
    """One column to read, under the name that SQL will see.

    ``columns`` are the names it may have in an export, the best first; ``combine`` makes one
    number of all that are present, which costs the reader less than handing over each. Integers
    come as BIGINT, unsigned ones reinterpreted; absent columns are NULL.
    """

    name: str
    columns: tuple[str, ...]
    kind: Kind = "BIGINT"
    combine: Literal["first", "product", "sum"] = "first"


def integer(name: str, *columns: str) -> Field:
    """Return an integer field; ``columns`` only where they differ from ``name``."""
    return Field(name, columns or (name,))


def text(name: str, *columns: str) -> Field:
    """Return a text field; bytes that are no UTF-8 come as U+FFFD."""
    return Field(name, columns or (name,), "VARCHAR")


def blob(name: str, *columns: str) -> Field:
    """Return a field of raw bytes, whatever the cell was declared as."""
    return Field(name, columns or (name,), "BLOB")


@dataclass(frozen=True)
class Only:
    """Keep the rows whose ``column`` is one of ``values``; all, where there is no such column."""

    column: str
    values: tuple[int, ...]


class Through(Protocol):
    """Something that every batch passes on its way, in the thread that reads it."""

    def schema(self, columns: pa.Schema) -> pa.Schema:
        """Return the columns that come out where ``columns`` go in."""
        ...

    def __call__(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return what becomes of a batch."""
        ...


@dataclass(frozen=True)
class Request:
    """Rows of one raw table to be seen as one view."""

    table: str
    fields: tuple[Field, ...]
    only: Only | None = None
    through: Through | None = None

    def schema(self) -> pa.Schema:
        """Return the columns of the view."""
        columns = schema_of(self.fields)
        return columns if self.through is None else self.through.schema(columns)


@dataclass
class View:
    """A view while it stands. ``rows`` counts what was read once a statement has run over it.

    ``trouble`` says that this way of reading cannot read the table; the next one is then taken.
    """

    rows: int = 0
    trouble: bool = False
    failure: Exception | None = None


class Strays:
    """Cells that were not what their column says. Counted from several threads."""

    def __init__(self) -> None:
        """Begin with none."""
        self._counts: Counter[str] = Counter()
        self._lock = threading.Lock()

    def add(self, kind: str, number: int) -> None:
        """Count ``number`` more of a kind: undecodable_text or non_integer_cells."""
        with self._lock:
            self._counts[kind] += number

    def copy(self) -> Counter[str]:
        """Return the counts so far."""
        with self._lock:
            return +self._counts

    def restore(self, counts: Counter[str]) -> None:
        """Go back to earlier counts: a table that is read again is counted again."""
        with self._lock:
            self._counts = Counter(counts)


class MixedTypesError(Exception):
    """A cell breaks its column's type, so the table must be read the careful way."""


# Ways to read a table: the second is slower, and no cell stops it.
USUAL, CAREFUL = range(2)


@dataclass(frozen=True)
class Presence:
    """A raw table and its columns; names compare without case, as SQLite does."""

    name: str
    columns: Mapping[str, str] = field(default_factory=dict)

    def has(self, column: str) -> bool:
        """Return whether the table has this column."""
        return column.lower() in self.columns


class RawTrace(ABC):
    """One opened export. ``strays`` counts cells that were no integer or no UTF-8."""

    def __init__(self, file: str, tables: Mapping[str, Presence]) -> None:
        """``tables`` is keyed by the lower-case name."""
        self.file = file
        self.strays = Strays()
        self._tables = tables
        self._ways: dict[str, int] = {}

    def tables(self) -> list[str]:
        """Return the names of the tables, as the export spells them, sorted."""
        return sorted(presence.name for presence in self._tables.values())

    def has(self, table: str, column: str | None = None) -> bool:
        """Return whether the export has this table, and this column of it."""
        presence = self._tables.get(table.lower())
        return presence is not None and (column is None or presence.has(column))

    @abstractmethod
    def filled(self, table: str) -> bool:
        """Return whether the table has a row."""

    @abstractmethod
    def count(self, table: str) -> int:
        """Return the number of rows of a table, 0 if it is absent."""

    def sample(self, table: str, least: int, *columns: str) -> list[tuple[Any, ...]]:  # noqa: ARG002
        """Return some rows of a table of ``least`` rows or more, as they lie in it.

        None of a smaller table, of one that lacks a column, and of a form that cannot pick rows.
        """
        return []

    @abstractmethod
    def _open(
        self,
        connection: duckdb.DuckDBPyConnection,
        name: str,
        request: Request,
        view: View,
        way: int,
    ) -> contextlib.AbstractContextManager[object]:
        """Make ``name`` a view of the rows for as long as the context lasts."""

    def run(
        self,
        connection: duckdb.DuckDBPyConnection,
        statement: str,
        views: Mapping[str, Request],
        parameters: Mapping[str, Any] | None = None,
    ) -> tuple[int, dict[str, View]]:
        """Run a statement over ``views`` of raw tables; it must be one that can be repeated.

        Returns what DuckDB says it did (rows written) and the views.
        """

        def run() -> int:
            done = connection.execute(statement, dict(parameters or {})).fetchall()
            return int(done[0][0]) if done else 0

        return self.over(connection, views, run)

    def over(
        self,
        connection: duckdb.DuckDBPyConnection,
        views: Mapping[str, Request],
        act: Callable[[], _Made],
    ) -> tuple[_Made, dict[str, View]]:
        """Do something while ``views`` of raw tables stand; it must be repeatable.

        A view may be read once only. Returns what ``act`` returned, and the views.
        """
        while True:
            seen = {name: View() for name in views}
            before = self.strays.copy()
            try:
                with contextlib.ExitStack() as stack:
                    for name, request in views.items():
                        stack.enter_context(self._view(connection, name, request, seen[name]))
                    return act(), seen
            except Exception as error:
                interrupt.again()
                failed = [view.failure for view in seen.values() if view.failure]
                again = {views[name].table for name, view in seen.items() if view.trouble}
                if not again or any(self._ways.get(table) == CAREFUL for table in again):
                    raise (failed[0] if failed else error) from error
                self._ways |= dict.fromkeys(again, CAREFUL)
                self.strays.restore(before)

    def rows(
        self, connection: duckdb.DuckDBPyConnection, table: str, *fields: Field, most: int = 100_000
    ) -> list[dict[str, Any]]:
        """Return the rows of a small table, at most ``most`` of them."""
        self.run(
            connection,
            f"CREATE OR REPLACE TEMP TABLE _rows AS FROM _small LIMIT {most}",
            {"_small": Request(table, fields)},
        )
        found = connection.execute("FROM _rows").fetchall()
        connection.execute("DROP TABLE _rows")
        return [dict(zip((field.name for field in fields), row, strict=True)) for row in found]

    @contextlib.contextmanager
    def _view(
        self, connection: duckdb.DuckDBPyConnection, name: str, request: Request, view: View
    ) -> Iterator[None]:
        if not self.has(request.table):
            connection.register(name, request.schema().empty_table())
            yield
            connection.unregister(name)
            return
        way = self._ways.get(request.table, USUAL)
        with self._open(connection, name, request, view, way):
            yield


def shaped(batch: pa.RecordBatch, request: Request, strays: Strays) -> pa.RecordBatch:
    """Return a batch with the columns that were asked for; text is decoded, never trusted.

    Columns are told by their names; those that the export lacks are NULL.

    Raises:
        MixedTypesError: a column holds something else than integers or bytes.
    """
    names, columns = batch.schema.names, []
    for wanted in request.fields:
        if wanted.name not in names:
            columns.append(pa.nulls(batch.num_rows, ARROW[wanted.kind]))
            continue
        column = batch.column(names.index(wanted.name))
        if wanted.kind == "VARCHAR":
            column, undecodable = readable(column)
            strays.add("undecodable_text", undecodable)
        elif column.type != ARROW[wanted.kind]:
            raise MixedTypesError(wanted.name)
        columns.append(column)
    whole = pa.RecordBatch.from_arrays(columns, schema=schema_of(request.fields))
    return whole if request.through is None else request.through(whole)


def schema_of(fields: Sequence[Field]) -> pa.Schema:
    """Return the Arrow schema of the fields."""
    return pa.schema([(wanted.name, ARROW[wanted.kind]) for wanted in fields])
