"""The few bytes that finding needs from inside a file. Nothing is written, not even beside it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

from nsysflow.find.names import Kind

_SQLITE_MAGIC = b"SQLite format 3\x00"
_EXPORT_TABLE = "META_DATA_EXPORT"
_SIGNS = ("StringIds", _EXPORT_TABLE, "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS")
_INPUT_KEYS = ("EXPORT_PARAM_INPUT_PATH_ABS", "EXPORT_PARAM_INPUT_PATH", "EXPORT_PARAM_INPUT_FILE")
# A real export holds some forty such rows; a file that claims more is not worth the time.
_MOST_ROWS = 1000
_MOST_STEPS = 200_000
_MOST_BYTES = 4_000_000
# A virtual table has no root page: reading one would run code of the file's choosing.
_TABLES = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0"
_VALUES = "SELECT name, value FROM META_DATA_EXPORT LIMIT ?"


def is_sqlite(path: Path) -> bool:
    """Return whether the file begins as a SQLite database does."""
    try:
        with path.open("rb") as stream:
            return stream.read(len(_SQLITE_MAGIC)) == _SQLITE_MAGIC
    except OSError:
        return False


def is_nsys_database(path: Path) -> bool:
    """Return whether the file is a SQLite database with a table only nsys would name so."""
    if not is_sqlite(path):
        return False
    try:
        with _opened(path) as connection:
            return any(name in _SIGNS for name in _table_names(connection))
    except (sqlite3.Error, OSError, UnicodeError):
        return False


def reports_named(path: Path, kind: Kind) -> list[str]:
    """Return the report an export says it was made from, as paths or bare names; [] if untold."""
    if kind.packed is not None:
        return []
    rows = _parquet_rows(path) if kind.form == "parquetdir" else _sqlite_rows(path)
    return [rows[key] for key in _INPUT_KEYS if rows.get(key)]


def _sqlite_rows(path: Path) -> dict[str, str]:
    if not is_sqlite(path):
        return {}
    try:
        with _opened(path) as connection:
            if _EXPORT_TABLE not in _table_names(connection):
                return {}
            rows = connection.execute(_VALUES, (_MOST_ROWS,)).fetchall()
    except (sqlite3.Error, OSError, UnicodeError):
        return {}
    return {_text(name): _text(value) for name, value in rows}


def _parquet_rows(folder: Path) -> dict[str, str]:
    import pyarrow as pa  # noqa: PLC0415 - a second of start-up that most runs do not need
    from pyarrow import parquet  # noqa: PLC0415

    path = folder / f"{_EXPORT_TABLE}.parquet"
    try:
        if path.stat().st_size > _MOST_BYTES:
            return {}
        table = parquet.read_table(path, columns=["name", "value"])
    except (OSError, pa.ArrowException, KeyError):
        return {}
    rows = table.slice(0, _MOST_ROWS).to_pylist()
    return {_text(row.get("name")): _text(row.get("value")) for row in rows}


def _text(value: object) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return "" if value is None else str(value)


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[sqlite3.Connection]:
    # Immutable: SQLite then makes no -shm or -wal file and takes no lock.
    uri = f"file:{quote(os.fsencode(path.absolute()))}?mode=ro&immutable=1"
    connection = sqlite3.connect(uri, uri=True)
    try:
        connection.text_factory = bytes
        # A crafted schema can make even a small question endless.
        connection.set_progress_handler(lambda: 1, _MOST_STEPS)
        yield connection
    finally:
        connection.close()


def _table_names(connection: sqlite3.Connection) -> list[str]:
    return [_text(name) for (name,) in connection.execute(_TABLES)]
