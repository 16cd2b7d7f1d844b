"""Read-only SQL over the store, by a DuckDB that can reach nothing else."""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from nsysflow.errors import UsageError
from nsysflow.parquet_files import table_of
from nsysflow.settings import Limits

# What the folders below the store are, from the outside in; they become columns.
_FOLDERS = ("trace", "part")
_READS = (duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN)
_EXPLAIN = re.compile(r"(?is)\s*EXPLAIN\s+(?:ANALYZE\s+)?(?:\([^()]*\)\s*)?")
_KINDS_OF_SELECT = {"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"}


def connect(store: Path, limits: Limits) -> duckdb.DuckDBPyConnection:
    """Return a locked in-memory connection with one view per table of the store.

    The tables come in as Arrow data sets, read by Arrow: DuckDB itself needs no file access, so
    all of it can be switched off, that to the store included.
    """
    connection = duckdb.connect(config=_config(limits))
    for name, files in sorted(tables(store).items()):
        connection.register(name, _dataset(store, files))
    for setting in ("enable_external_access = false", "lock_configuration = true"):
        connection.execute(f"SET {setting}")
    return connection


def _config(limits: Limits) -> dict[str, str | bool | int | float | list[str]]:
    return {
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
        "allow_community_extensions": False,
        "python_enable_replacements": False,
        "memory_limit": f"{limits.memory_bytes}B",
        "threads": limits.threads,
        "temp_directory": str(limits.temp_dir) if limits.temp_dir else "",
    }


def tables(store: Path) -> dict[str, list[Path]]:
    """Return table -> its files: of every trace, or of every lane for what was analysed."""
    found: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(store.rglob("*.parquet")):
        if not any(part.startswith(".") for part in path.relative_to(store).parts):
            found[table_of(path)].append(path)
    return dict(found)


def _dataset(store: Path, files: list[Path]) -> ds.Dataset:
    depth = len(files[0].relative_to(store).parts) - 1
    folders = pa.schema([(name, pa.string()) for name in _FOLDERS[:depth]])
    return ds.dataset(
        [str(path) for path in files],
        schema=pa.schema([*folders, *pq.read_schema(files[0])]),
        format="parquet",
        # The segments are names as they are, not URLs.
        partitioning=ds.DirectoryPartitioning(folders, segment_encoding="none"),
        partition_base_dir=str(store),
    )


def check(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    """Let exactly one SELECT, DESCRIBE or EXPLAIN of one through.

    Raises:
        UsageError: the text is anything else.
    """
    statements = _statements(connection, text)
    if not statements:
        raise UsageError("the query is empty", hint="leave it out to list the tables")
    if len(statements) != 1:
        raise UsageError(f"nsysflow sql takes one statement, these are {len(statements)}")
    if statements[0].type not in _READS:
        raise UsageError(
            f"nsysflow sql only reads; this is a {statements[0].type.name} statement",
            hint="write one SELECT, DESCRIBE or EXPLAIN",
        )
    inner = text
    if statements[0].type == duckdb.StatementType.EXPLAIN:
        # EXPLAIN ANALYZE runs what it explains.
        inner = _EXPLAIN.sub("", text, count=1)
        explained = _statements(connection, inner)
        if [each.type for each in explained] != [duckdb.StatementType.SELECT]:
            raise UsageError("nsysflow sql only reads; EXPLAIN must be followed by a SELECT")
    _only_selects(connection, inner)


def _statements(connection: duckdb.DuckDBPyConnection, text: str) -> list[duckdb.Statement]:
    try:
        return connection.extract_statements(text)
    except duckdb.Error as error:
        raise UsageError(first_line(error)) from error


def _only_selects(connection: duckdb.DuckDBPyConnection, text: str) -> None:
    # A CTE may hold COPY or INSERT, and the whole still counts as a SELECT.
    rows = connection.execute("SELECT json_serialize_sql(?)", [text]).fetchall()
    tree = json.loads(rows[0][0])
    if tree.get("error") or not _KINDS_OF_SELECT.issuperset(_node_kinds(tree)):
        raise UsageError("nsysflow sql only reads; this statement holds one that writes")


def _node_kinds(tree: Any) -> Iterator[str]:  # noqa: ANN401 - any JSON value
    if isinstance(tree, dict):
        kind = tree.get("type")
        if isinstance(kind, str) and kind.endswith("_NODE"):
            yield kind
        for value in tree.values():
            yield from _node_kinds(value)
    elif isinstance(tree, list):
        for value in tree:
            yield from _node_kinds(value)


def run(connection: duckdb.DuckDBPyConnection, text: str) -> pa.RecordBatchReader:
    """Check and run one statement; rows come as they are asked for.

    Raises:
        UsageError: it is not allowed, or DuckDB refuses it.
    """
    check(connection, text)
    try:
        return pa.RecordBatchReader.from_stream(connection.sql(text))
    except duckdb.Error as error:
        raise UsageError(first_line(error)) from error


def catalogue(store: Path) -> pa.RecordBatchReader:
    """Return table, column and type of everything that can be asked, as rows."""
    rows = [
        {"table": name, "column": column.name, "type": str(column.type)}
        for name, files in sorted(tables(store).items())
        for column in _dataset(store, files).schema
    ]
    schema = pa.schema([(name, pa.string()) for name in ("table", "column", "type")])
    return pa.Table.from_pylist(rows, schema).to_reader()


def first_line(error: Exception) -> str:
    """Return what DuckDB says without its picture of the query."""
    return str(error).split("\n\n")[0].replace("\n", " ")
