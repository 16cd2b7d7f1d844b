"""Which Parquet files hold which table, and how DuckDB is told to read them."""

from __future__ import annotations

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path


def file_name(table: str, number: int | None = None) -> str:
    """Return the name of a table's file, of one of several files where they are numbered."""
    return f"{table}.parquet" if number is None else f"{table}.{number:03}.parquet"


def table_of(path: Path) -> str:
    """Return the table that a file holds, whole or in part."""
    return path.name.partition(".")[0]


def files_by_table(folder: Path) -> Iterator[tuple[str, list[Path]]]:
    """Yield each table that lies in a folder, with its files, sorted."""
    found: dict[str, list[Path]] = {}
    for path in sorted(folder.glob("*.parquet")):
        found.setdefault(table_of(path), []).append(path)
    yield from sorted(found.items())


def files_of(folder: Path, table: str) -> list[Path]:
    """Return the files of one table, sorted; none if it is not there."""
    return sorted(path for path in folder.glob(f"{table}.*") if table_of(path) == table)


def source(files: Sequence[Path]) -> str:
    """Return what stands in a FROM clause for the rows of some files.

    Names are names: an asterisk in one matches nothing else, and a folder called ``lane=7`` is no
    column.
    """
    paths = ", ".join("'" + glob.escape(str(path)).replace("'", "''") + "'" for path in files)
    return f"read_parquet([{paths}], hive_partitioning = false)"
