"""The desk of one conversion: an engine within its limits, the raw trace, a store being filled."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import duckdb
import pyarrow as pa

from nsysflow import sqlfile
from nsysflow.errors import InputError
from nsysflow.parquet_files import file_name, files_of, source
from nsysflow.read import RawTrace, Request
from nsysflow.resources import data
from nsysflow.scratch import clean, owned
from nsysflow.settings import Limits

_FORMAT = (
    "FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, COMPRESSION_LEVEL 1,"
    " ROW_GROUP_SIZE 122880"
    # Columns of more values than this gain nothing by a dictionary, and the attempt costs time.
    ", DICTIONARY_SIZE_LIMIT 4096"
)
_STORE = f"({_FORMAT})"
# Below this a lane reads the rows of all processes in no time.
ROWS_WORTH_FILES = 1_000_000
# What is left of an attempt that the input cut short is removed.
_APART = f"({_FORMAT}, PARTITION_BY (part), OVERWRITE)"
# Read once, soon, on this disk: speed before size.
_SCRATCH = (
    "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION snappy, ROW_GROUP_SIZE 122880"
    ", DICTIONARY_SIZE_LIMIT 256)"
)
_SCRATCH_NAME = "nsysflow-scratch"
_Taken = TypeVar("_Taken")


@dataclass
class Work:
    """One conversion. ``limit_ns`` is the longest believable duration, None if untold."""

    raw: RawTrace
    connection: duckdb.DuckDBPyConnection
    scratch: Path
    store: Path
    limit_ns: int | None = None
    dropped: Counter[str] = field(default_factory=Counter)
    rows: dict[str, int] = field(default_factory=dict)

    def create(self, stem: str, name: str, views: Mapping[str, Request] | None = None) -> None:
        """Make table ``name`` from ``sql/convert/<stem>.sql``."""
        self._run(stem, f"CREATE OR REPLACE TABLE {name} AS {_select(stem)}", views)

    def spill(self, stem: str, name: str, views: Mapping[str, Request]) -> bool:
        """Write what ``<stem>`` selects to a scratch file that ``name`` is a view of.

        Returns whether there came one row of each that was read.
        """
        path = self.scratch / f"{stem}.parquet"
        written, read = self._run(
            stem, f"COPY ({_select(stem)}) TO {_literal(path)} {_SCRATCH}", views
        )
        self.see(name, path)
        return written == read

    @contextlib.contextmanager
    def streams_probe(self) -> Iterator[None]:
        """Join as written: streams against tables, never the other way about.

        The engine cannot know how long a stream is, and would keep it in memory as the small side.
        """
        setting = "build_side_probe_side,join_order"
        self.connection.execute(f"SET disabled_optimizers = '{setting}'")
        try:
            yield
        finally:
            self.connection.execute("RESET disabled_optimizers")

    def see_stored(self, name: str, table: str) -> None:
        """Make ``name`` a view of a table of the store."""
        self.see(name, *files_of(self.store, table))

    def see(self, name: str, *paths: Path) -> None:
        """Make ``name`` a view of Parquet files that have the same columns."""
        self.connection.execute(f"CREATE OR REPLACE VIEW {name} AS FROM {source(paths)}")

    def save(self, stem: str, views: Mapping[str, Request] | None = None) -> tuple[int, int]:
        """Write a table of the store and read it back.

        Returns the rows written and the rows read from the views.
        """
        written, read = self._write(stem, _select(stem), stem, views)
        self.check(stem, written)
        return written, read

    def save_sorted(self, stem: str, views: Mapping[str, Request]) -> tuple[int, int]:
        """Write a table as ``save`` does, in the order of ``<stem>_sorted``."""
        select = _sorted(f"{stem}_sorted", _select(stem))
        written, read = self._write(stem, select, stem, views)
        self.check(stem, written)
        return written, read

    def sort_files(self, stem: str, files: Sequence[Path], name: str) -> None:
        """Write some files of a table as one, ``name``, in the order of ``<stem>_sorted``."""
        select = _sorted(f"{stem}_sorted", f"FROM {source(files)}")
        self.connection.execute(f"COPY ({select}) TO {_literal(self.store / name)} {_STORE}")

    def stream(
        self,
        stem: str,
        views: Mapping[str, Request],
        take: Callable[[pa.RecordBatchReader], _Taken],
    ) -> tuple[_Taken, int]:
        """Hand what ``<stem>`` selects to ``take``, in the order in which it is read.

        ``take`` is called again if the input must be read again. Returns what it returned, and the
        rows read from the views.
        """
        parameters = self._parameters(stem)

        def taken() -> _Taken:
            rows = self.connection.sql(_select(stem), params=parameters)
            # Until its result is closed the engine takes no other statement.
            with pa.RecordBatchReader.from_stream(rows) as reader:
                return take(reader)

        with self._as_it_comes():
            found, seen = self.raw.over(self.connection, views, taken)
        return found, sum(view.rows for view in seen.values())

    @contextlib.contextmanager
    def _as_it_comes(self) -> Iterator[None]:
        """Keep rows in the order in which they come: the engine does so in one thread."""
        changed = {"threads": 1, "preserve_insertion_order": True}
        before = {name: self._setting(name) for name in changed}
        self._set(changed)
        try:
            yield
        finally:
            self._set(before)

    def _setting(self, name: str) -> int | bool:
        found = self.connection.execute("SELECT current_setting(?)", [name]).fetchall()
        value: int | bool = found[0][0]
        return value

    def _set(self, settings: Mapping[str, int | bool]) -> None:
        for name, value in settings.items():
            # What a reset goes back to is the engine's own value, not the one it was opened with.
            self.connection.execute(f"SET {name} = {value}")

    def _write(
        self, stem: str, select: str, name: str, views: Mapping[str, Request] | None
    ) -> tuple[int, int]:
        path = self.store / file_name(name)
        return self._run(stem, f"COPY ({select}) TO {_literal(path)} {_STORE}", views)

    def save_apart(self, stem: str, views: Mapping[str, Request]) -> tuple[int, int]:
        """Write a table as ``save`` does; if it is large, in a file for each value of ``part``.

        A lane reads the rows of its own process only. Files say what they hold, so those of other
        processes are left alone; in one file every lane would read all rows.
        """
        folder = self.scratch / stem
        statement = f"COPY ({_select(stem)}) TO {_literal(folder)} {_APART}"
        written, read = self._run(stem, statement, views)
        made = sorted(folder.rglob("*.parquet"))
        if len(made) > 1 and written >= ROWS_WORTH_FILES:
            for number, path in enumerate(made):
                shutil.move(path, self.store / file_name(stem, number))
        else:
            self._put_together(stem, made, views)
        self.check(stem, written)
        return written, read

    def _put_together(self, stem: str, parts: list[Path], views: Mapping[str, Request]) -> None:
        if parts:
            self.see("_whole", *parts)
        else:
            # Without rows no part was made, and only the statement knows the columns.
            self._run(stem, f"CREATE TABLE _none AS FROM ({_select(stem)}) LIMIT 0", views)
            self.connection.execute("ALTER TABLE _none DROP COLUMN part")
            self.connection.execute("CREATE OR REPLACE VIEW _whole AS FROM _none")
        path = self.store / file_name(stem)
        self.connection.execute(f"COPY _whole TO {_literal(path)} {_STORE}")
        self.connection.execute("DROP VIEW _whole; DROP TABLE IF EXISTS _none")

    def save_table(self, name: str) -> None:
        """Write a table that exists already to the store, in the order in which it stands."""
        path = self.store / file_name(name)
        written = self.connection.execute(
            f"COPY (FROM {name} ORDER BY ALL) TO {_literal(path)} {_STORE}"
        ).fetchall()
        self.check(name, int(written[0][0]))

    def view(self, name: str, stem: str) -> None:
        """Make ``name`` a view of what ``<stem>`` selects."""
        self.connection.execute(f"CREATE OR REPLACE VIEW {name} AS {_select(stem)}")

    def count(self, table: str, condition: str) -> int:
        """Return the number of rows of one of our tables that meet a condition."""
        question = f"SELECT count(*) FROM {table} WHERE {condition}"  # noqa: S608 - our own words
        return int(self.connection.execute(question).fetchall()[0][0])

    def count_faults(self, stem: str, view: str, request: Request) -> None:
        """Count the rows of an event table that were left out, by reason."""
        self.create(stem, "_fault", {view: request})
        self._add_faults(self.connection.execute("FROM _fault").fetchall())

    def add_faults(self, stem: str) -> None:
        """Add what ``<stem>`` counts to the rows left out."""
        self._add_faults(self.connection.execute(_select(stem)).fetchall())

    def _add_faults(self, rows: list[tuple[str, int]]) -> None:
        for fault, number in rows:
            self.dropped[fault] += number

    def _run(
        self, stem: str, statement: str, views: Mapping[str, Request] | None
    ) -> tuple[int, int]:
        parameters = self._parameters(stem)
        written, seen = self.raw.run(self.connection, statement, views or {}, parameters)
        return written, sum(view.rows for view in seen.values())

    def _parameters(self, stem: str) -> dict[str, int | None]:
        known = sqlfile.load("convert", stem).param_names
        return {"limit_ns": self.limit_ns} if "limit_ns" in known else {}

    def check(self, name: str, written: int) -> None:
        """Read back the rows of a table of the store.

        Raises:
            InputError: there are not as many as were written.
        """
        self.see_stored("_written", name)
        found = self.count("_written", "true")
        if found != written:
            raise InputError(
                f"{self.raw.file}: {name}.parquet has {found} rows after {written} were written",
                stage="convert",
                hint="check the disk of the output folder",
            )
        self.rows[name] = written


@contextlib.contextmanager
def engine(limits: Limits, scratch: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open a DuckDB that keeps within the limits and spills into ``scratch``."""
    config: dict[str, str | bool | int | float | list[str]] = {
        "threads": str(limits.threads),
        "memory_limit": f"{limits.memory_bytes}B",
        "temp_directory": str(scratch / "spill"),
        "preserve_insertion_order": "false",
        # Rows held back for each file of a table that is written apart, per thread.
        "partitioned_write_flush_threshold": "131072",
        # A name in a statement means a table of ours, never a Python variable or a file.
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        for macros in ("times", "calls"):
            text = data("sql", "macros", f"{macros}.sql").read_text(encoding="utf-8")
            connection.execute(text)
        yield connection
    finally:
        connection.close()


@contextlib.contextmanager
def scratch_folder(limits: Limits, beside: Path) -> Iterator[Path]:
    """Make a folder for what is not kept, on the disk meant for it."""
    parent = limits.temp_dir or beside
    parent.mkdir(parents=True, exist_ok=True)
    clean(parent, _SCRATCH_NAME)
    with tempfile.TemporaryDirectory(prefix=f"{owned(_SCRATCH_NAME)}-", dir=parent) as folder:
        yield Path(folder)


def _select(stem: str) -> str:
    return sqlfile.load("convert", stem).text.rstrip().rstrip(";")


def _sorted(stem: str, unsorted: str) -> str:
    return f"WITH _unsorted AS ({unsorted}) FROM ({_select(stem)})"


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
