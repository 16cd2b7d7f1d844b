"""Tables in memory, written as nsys would write them: SQLite or a folder of Parquet files."""

from __future__ import annotations

import random
import sqlite3
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.support.columns import COLUMNS, ENUMS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

UNSIGNED_64 = {"globalPid", "globalTid", "endGlobalTid", "globalVid", "bytes", "address"}
UNSIGNED_32 = {
    *("deviceId", "contextId", "streamId", "correlationId", "textId", "nameId", "vmId"),
    *("demangledName", "shortName", "domainId", "graphId", "graphExecId", "pid", "cudaId"),
}


@dataclass(frozen=True)
class Column:
    """One column as declared in SQLite and as typed in Parquet."""

    name: str
    declared: str
    required: bool
    key: bool

    @property
    def default(self) -> object:
        """The value that nsys writes for "nothing"."""
        if self.name == "tensorSizeMinusOneElements":
            return "[]"
        return "" if self.declared == "TEXT" else 0

    @property
    def arrow(self) -> pa.DataType:
        """The Parquet type: ids keep their unsigned width."""
        if self.declared != "INTEGER":
            return pa.string() if self.declared == "TEXT" else pa.float64()
        if self.name in UNSIGNED_64:
            return pa.uint64()
        return pa.uint32() if self.name in UNSIGNED_32 else pa.int64()

    def ddl(self, *, strict: bool) -> str:
        """Declare the column; ``strict`` keeps NOT NULL."""
        required = " NOT NULL" if self.required and strict else ""
        return f'"{self.name}" {self.declared}{required}{" PRIMARY KEY" if self.key else ""}'


@cache
def columns_of(table: str) -> tuple[Column, ...]:
    """The columns of a table, in the order of the real export."""
    if table.startswith("ENUM_"):
        return tuple(map(_column, ("id!*", "name:T", "label:T")))
    return tuple(map(_column, COLUMNS[table].split()))


def _column(text: str) -> Column:
    name, _, kind = text.rstrip("*").partition(":")
    declared = {"": "INTEGER", "T": "TEXT", "R": "REAL"}[kind]
    return Column(name.rstrip("!"), declared, name.endswith("!"), text.endswith("*"))


def arrow_value(value: Any, kind: pa.DataType) -> Any:
    """Reinterpret a signed id as the unsigned one that Parquet holds."""
    if value is None or not pa.types.is_unsigned_integer(kind):
        return value
    return value % (1 << kind.bit_width)


class Tables:
    """The rows of one export.

    ``drop`` names tables that are never written, ``drop_columns`` columns per table;
    ``lazy=False`` writes every table of the schema, most of them empty;
    ``strict=False`` leaves NOT NULL out of the DDL, so that broken rows can be held.
    """

    def __init__(
        self,
        *,
        schema: str = "3.25.0",
        drop: Iterable[str] = (),
        drop_columns: dict[str, set[str]] | None = None,
        lazy: bool = True,
        strict: bool = True,
    ) -> None:
        """Start an export of the given schema generation."""
        self.rows: dict[str, list[dict[str, Any]]] = {}
        self.drop = set(drop)
        self.drop_columns = drop_columns or {}
        self.lazy = lazy
        self.strict = strict
        self._strings: dict[str, int] = {}
        for name, value in (
            ("EXPORT_PRODUCT_VERSION", "2026.2.1.210-262137639846v0"),
            ("EXPORT_SCHEMA_VERSION", schema),
        ):
            self.row("META_DATA_EXPORT", name=name, value=value)

    def row(self, table: str, **values: object) -> None:
        """Add one raw row; NOT NULL columns left out get 0, ``""`` or ``[]``."""
        filled = {column.name: column.default for column in columns_of(table) if column.required}
        self.rows.setdefault(table, []).append(filled | values)

    def string(self, value: str) -> int:
        """Return the id of a text in StringIds."""
        if value not in self._strings:
            self._strings[value] = len(self._strings) + 1
            self.row("StringIds", id=self._strings[value], value=value)
        return self._strings[value]

    def _tables(self, shuffle: int | None) -> list[tuple[str, list[Column], list[dict[str, Any]]]]:
        names = list(self.rows) if self.lazy else [*self.rows, *COLUMNS, *ENUMS]
        tables = []
        for name in dict.fromkeys(names):
            if name in self.drop:
                continue
            hidden = self.drop_columns.get(name, set())
            rows = list(self.rows.get(name, []))
            if shuffle is not None:
                random.Random(f"{shuffle} {name}").shuffle(rows)  # noqa: S311
            tables.append((name, [c for c in columns_of(name) if c.name not in hidden], rows))
        return tables

    def write_sqlite(self, path: Path, *, shuffle: int | None = None, wal: bool = False) -> Path:
        """Write one ``.sqlite``; ``wal`` leaves it in WAL mode with nothing outstanding."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        if wal:
            connection.execute("PRAGMA journal_mode=WAL")
        for name, columns, rows in self._tables(shuffle):
            body = ", ".join(column.ddl(strict=self.strict) for column in columns)
            connection.execute(f'CREATE TABLE "{name}" ({body})')
            values = ([row.get(column.name) for column in columns] for row in rows)
            marks = ", ".join("?" * len(columns))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({marks})', values)
        connection.commit()
        connection.close()
        return path

    def write_parquetdir(self, path: Path, *, shuffle: int | None = None) -> Path:
        """Write a folder with one Parquet file per table, ids unsigned as nsys keeps them there."""
        path.mkdir(parents=True, exist_ok=True)
        for name, columns, rows in self._tables(shuffle):
            schema = pa.schema([(column.name, column.arrow) for column in columns])
            lines = [
                {column.name: arrow_value(row.get(column.name), column.arrow) for column in columns}
                for row in rows
            ]
            pq.write_table(pa.Table.from_pylist(lines, schema), path / f"{name}.parquet")
        return path
