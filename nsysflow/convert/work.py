"""The desk of one conversion: an engine within its limits, the raw trace, a store being filled."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import duckdb

from nsysflow import sqlfile
from nsysflow.errors import InputError
from nsysflow.read import RawTrace, Request
from nsysflow.resources import data
from nsysflow.settings import Limits

_STORE = (
    "(FORMAT parquet, PARQUET_VERSION v2, COMPRESSION zstd, COMPRESSION_LEVEL 1,"
    " ROW_GROUP_SIZE 122880)"
)
# Read once, soon, on this disk: speed before size.
_SCRATCH = "(FORMAT parquet, COMPRESSION lz4_raw, ROW_GROUP_SIZE 122880)"
_SCRATCH_NAME = "nsysflow-scratch"
# Another host's processes cannot be asked; a conversion takes minutes, not a day.
_STALE_S = 86_400


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

    def see(self, name: str, *paths: Path) -> None:
        """Make ``name`` a view of Parquet files that have the same columns."""
        files = ", ".join(_literal(path) for path in paths)
        self.connection.execute(f"CREATE OR REPLACE VIEW {name} AS FROM read_parquet([{files}])")

    def save(self, stem: str, views: Mapping[str, Request] | None = None) -> tuple[int, int]:
        """Write a table of the store and read it back.

        Returns the rows written and the rows read from the views.
        """
        path = self.store / f"{stem}.parquet"
        statement = f"COPY ({_select(stem)}) TO {_literal(path)} {_STORE}"
        written, read = self._run(stem, statement, views)
        self._check(stem, path, written)
        return written, read

    def save_table(self, name: str) -> None:
        """Write a table that exists already to the store, in the order in which it stands."""
        path = self.store / f"{name}.parquet"
        written = self.connection.execute(
            f"COPY (FROM {name} ORDER BY ALL) TO {_literal(path)} {_STORE}"
        ).fetchall()
        self._check(name, path, int(written[0][0]))

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
        known = sqlfile.load("convert", stem).param_names
        parameters = {"limit_ns": self.limit_ns} if "limit_ns" in known else {}
        written, seen = self.raw.run(self.connection, statement, views or {}, parameters)
        return written, sum(view.rows for view in seen.values())

    def _check(self, name: str, path: Path, written: int) -> None:
        question = f"SELECT count(*) FROM read_parquet([{_literal(path)}])"  # noqa: S608 - quoted
        found = self.connection.execute(question).fetchall()[0][0]
        if found != written:
            raise InputError(
                f"{self.raw.file}: {path.name} has {found} rows after {written} were written",
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
        # A name in a statement means a table of ours, never a Python variable or a file.
        "python_enable_replacements": "false",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
    connection = duckdb.connect(":memory:", config=config)
    try:
        connection.execute(data("sql", "macros", "times.sql").read_text(encoding="utf-8"))
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


def owned(name: str) -> str:
    """Return a hidden name for a folder that this process will remove."""
    return f".{name}.{socket.gethostname()}-{os.getpid()}"


def clean(parent: Path, name: str) -> None:
    """Remove the folders of this name that a process left when it was killed."""
    here = f".{name}.{socket.gethostname()}-"
    for path in parent.iterdir():
        if not path.name.startswith(f".{name}."):
            continue
        owner = path.name.removeprefix(here).split("-")[0]
        known = path.name.startswith(here) and owner.isdigit()
        old = time.time() - path.stat().st_mtime > _STALE_S
        if not _runs(int(owner)) if known else old:
            shutil.rmtree(path, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _select(stem: str) -> str:
    return sqlfile.load("convert", stem).text.rstrip().rstrip(";")


def _literal(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
