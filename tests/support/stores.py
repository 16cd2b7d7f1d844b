"""Convert small exports and look into the stores they become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from nsysflow.convert import convert_trace
from nsysflow.find import Input
from nsysflow.settings import Limits, Settings


def as_input(path: Path, form: str = "sqlite", packed: str | None = None) -> Input:
    """Return a file or folder as the input that finding would make of it."""
    return Input(path, path.name, form, packed)  # type: ignore[arg-type]


class Store:
    """One converted trace: ``capture`` and the rows of its tables."""

    def __init__(self, folder: Path, capture: dict[str, Any]) -> None:
        """Remember where the store lies and what converting returned."""
        self.folder = folder
        self.capture = capture

    def rows(self, table: str, columns: str = "*", order: str = "ALL") -> list[tuple[Any, ...]]:
        """Return rows of a table in a total order."""
        path = self.folder / f"{table}.parquet"
        query = f"SELECT {columns} FROM read_parquet('{path}') ORDER BY {order}"
        with duckdb.connect() as connection:
            return connection.execute(query).fetchall()

    def as_written(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """Return rows in the order in which they stand in the file."""
        path = self.folder / f"{table}.parquet"
        with duckdb.connect(config={"threads": "1"}) as connection:
            return connection.execute(f"SELECT {columns} FROM read_parquet('{path}')").fetchall()

    def texts(self, table: str, columns: str = "*", order: str = "ALL") -> list[tuple[Any, ...]]:
        """Return rows of a table with ``name_id`` resolved as ``text``."""
        tables = {name: self.folder / f"{name}.parquet" for name in (table, "string")}
        query = (
            f"SELECT {columns} FROM (SELECT t.*, s.value AS text FROM read_parquet("
            f"'{tables[table]}') t LEFT JOIN read_parquet('{tables['string']}') s"
            f" ON t.name_id = s.id) ORDER BY {order}"
        )
        with duckdb.connect() as connection:
            return connection.execute(query).fetchall()


def converted(
    path: Path,
    *,
    form: str = "sqlite",
    packed: str | None = None,
    settings: Settings | None = None,
    threads: int = 2,
    memory_bytes: int = 500_000_000,
) -> Store:
    """Convert one export into a folder beside it."""
    target = path.parent / "store" / f"{path.name}-{form}"
    limits = Limits(threads=threads, memory_bytes=memory_bytes)
    found = as_input(path, form, packed)
    return Store(target, convert_trace(found, target, settings or Settings(), limits))
