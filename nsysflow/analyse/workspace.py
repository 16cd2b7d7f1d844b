"""A DuckDB connection over one lane's store, and the stages built on it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from nsysflow import sqlfile
from nsysflow.parquet_files import files_by_table, source
from nsysflow.resources import data
from nsysflow.settings import Limits

Row = dict[str, Any]

# A slice table of this many rows costs a few megabytes and keeps slices short against any step.
SLICES = 1 << 17


class Workspace:
    """Stages become views or temporary tables of this connection; analyses read them."""

    def __init__(self, connection: duckdb.DuckDBPyConnection) -> None:
        """Work on ``connection``, which already has the store's views."""
        self._connection = connection
        # Columns of the lane's ops that are read again and again, see ``nsysflow.analyse.ops``.
        self.op_columns: dict[str, Any] = {}

    def view(self, stem: str, **params: object) -> None:
        """Define stage ``stem`` as a view: cheap, and computed wherever it is read."""
        statement = _literal(sqlfile.load("stages", stem), params)
        self._connection.execute(f'CREATE OR REPLACE VIEW "{stem}" AS {statement}')

    def table(self, stem: str, **params: object) -> int:
        """Compute stage ``stem`` once and keep its rows; return how many there are."""
        stage = sqlfile.load("stages", stem)
        made = self._connection.execute(
            f'CREATE OR REPLACE TABLE "{stem}" AS {stage.text}', _used(stage, params)
        )
        return int(made.fetchall()[0][0])

    def alias(self, name: str, stem: str) -> None:
        """Let ``name`` stand for a stage."""
        self._connection.execute(f'CREATE OR REPLACE VIEW "{name}" AS FROM "{stem}"')

    def rename(self, stem: str, name: str) -> None:
        """Give the rows of a stage another name; what had that name before is gone."""
        self._connection.execute(f'DROP TABLE IF EXISTS "{name}"')
        self._connection.execute(f'ALTER TABLE "{stem}" RENAME TO "{name}"')

    def put(self, name: str, rows: Sequence[Row], types: dict[str, str]) -> None:
        """Make a small table from rows judged in Python; ``types`` are Arrow types by column."""
        schema = pa.schema([(column, pa.type_for_alias(kind)) for column, kind in types.items()])
        columns = [pa.array([row[c] for row in rows], schema.field(c).type) for c in types]
        table = pa.table(columns, schema=schema)
        self._connection.register("_incoming", table)
        self._connection.execute(f'CREATE OR REPLACE TABLE "{name}" AS FROM _incoming')
        self._connection.unregister("_incoming")

    def rows(self, stem: str, folder: str = "analyses", **params: object) -> list[Row]:
        """Run an analysis (or a stage, by ``folder``) and return its rows as dictionaries."""
        query = sqlfile.load(folder, stem)
        result = self._connection.execute(query.text, _used(query, params))
        names = [column[0] for column in result.description or ()]
        return [dict(zip(names, values, strict=True)) for values in result.fetchall()]

    def row(self, stem: str, folder: str = "stages", **params: object) -> Row:
        """Run a query of exactly one row."""
        (only,) = self.rows(stem, folder, **params)
        return only

    def arrow(self, stem: str, folder: str = "stages", **params: object) -> pa.Table:
        """Run a query and return its columns."""
        query = sqlfile.load(folder, stem)
        return self._connection.sql(query.text, params=_used(query, params)).to_arrow_table()

    def columns(self, stem: str, *names: str) -> pa.Table:
        """Return some columns of a stage; only they are read."""
        query = sqlfile.load("stages", stem)
        return self._connection.sql(query.text).select(*names).to_arrow_table()

    def kept(self, stem: str, *names: str) -> pa.Table:
        """Return the rows of a stage that was computed before, in its order; or some columns."""
        rows = self._connection.sql(f'FROM "{stem}"')
        return (rows.select(*names) if names else rows).to_arrow_table()

    def batches(self, stem: str, **params: object) -> pa.RecordBatchReader:
        """Run a stage and stream its columns, some hundred thousand rows at a time."""
        query = sqlfile.load("stages", stem)
        # A stream stays open while other statements run, so it needs a cursor of its own.
        cursor = self._connection.cursor()
        stream = cursor.sql(query.text, params=_used(query, params))
        return pa.RecordBatchReader.from_stream(stream)

    def keep(self, stem: str, table: pa.Table) -> None:
        """Make a table from columns that a vectorised step computed."""
        self._connection.register("_incoming", table)
        self._connection.execute(f'CREATE OR REPLACE TABLE "{stem}" AS FROM _incoming')
        self._connection.unregister("_incoming")

    def stream(self, stem: str, batches: Iterator[pa.RecordBatch]) -> None:
        """Make a table from columns that come some at a time, at least one batch of them."""
        first = next(batches)
        rows = pa.RecordBatchReader.from_batches(first.schema, chain([first], batches))
        self._connection.register("_incoming", rows)
        self._connection.execute(f'CREATE OR REPLACE TABLE "{stem}" AS FROM _incoming')
        self._connection.unregister("_incoming")

    def save(self, stem: str, path: Path) -> None:
        """Write a stage beside the store, for ``nsysflow sql`` and for the job's stages."""
        target = str(path).replace("'", "''")
        self._connection.execute(
            f"COPY (FROM \"{stem}\") TO '{target}' "
            "(FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 1)"
        )


@contextmanager
def open_workspace(trace: Path, limits: Limits) -> Iterator[Workspace]:
    """Open the store of one trace: a view per canonical table, and the macros.

    Raises:
        duckdb.Error: a table of the store cannot be read.
    """
    config: dict[str, Any] = {
        "threads": limits.threads,
        "memory_limit": f"{limits.memory_bytes // 1_000_000}MB",
        "autoinstall_known_extensions": False,
        "autoload_known_extensions": False,
    }
    if limits.temp_dir is not None:
        config["temp_directory"] = str(limits.temp_dir)
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute("SET enable_progress_bar = false")
        # A lane asks the same few files hundreds of questions; their footers are read once.
        connection.execute("SET parquet_metadata_cache = true")
        for macros in ("intervals", "groups", "counted", "calls", "call_times", "copies"):
            text = data("sql", "macros", f"{macros}.sql").read_text(encoding="utf-8")
            connection.execute(text)
        for table, files in files_by_table(trace):
            connection.execute(f'CREATE VIEW "{table}" AS FROM {source(files)}')
        yield Workspace(connection)
    finally:
        connection.close()


def slice_shift(span_ns: int) -> int:
    """Return the power of two, in ns, that cuts ``span_ns`` into about ``SLICES`` slices."""
    return max(0, span_ns.bit_length() - SLICES.bit_length() + 1)


def _used(query: sqlfile.SqlFile, params: dict[str, object]) -> dict[str, object]:
    return {name: params[name] for name in sorted(query.param_names)}


def _literal(stage: sqlfile.SqlFile, params: dict[str, object]) -> str:
    """Views cannot hold parameters: write the few integers and booleans in."""
    text = stage.text
    for name in sorted(stage.param_names, key=len, reverse=True):
        value = params[name]
        if value is not None and not isinstance(value, int):
            raise TypeError(f"stage {stage.stem}: ${name} is not an integer")
        text = text.replace(f"${name}", "NULL" if value is None else str(value).upper())
    return text
