"""Spoil an export in one of the ways in which real files are spoilt, and in some that are worse."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.support.export import KERNEL, MEMCPY, RUNTIME

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from random import Random

STRANGE = (
    *(0, -1, 1, 2**31, 2**32 - 1, 2**53 + 1, 2**62, 2**63 - 1, -(2**63), 10**18),
    *(
        1.5,
        float("inf"),
        -1e300,
        "",
        "12",
        "0x10",
        "NaN",
        "text",
        "\udcff",
        b"\xff\xfe\x00",
        b"",
        None,
    ),
)
NAMES = (
    KERNEL,
    RUNTIME,
    MEMCPY,
    "NVTX_EVENTS",
    "StringIds",
    "NEVER_SEEN",
    "kernel",
    "select",
    'a"b',
)
TIMES = ("start", "end")


@dataclass(frozen=True)
class Target:
    """A database being spoilt, and the dice."""

    rng: Random
    db: sqlite3.Connection

    def tables(self) -> list[str]:
        """Names of the tables that are there."""
        rows = self.db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
        return [name for (name,) in rows]

    def table(self) -> str:
        """Pick a table, mostly one that matters."""
        tables = self.tables()
        known = [name for name in NAMES if name in tables]
        return self.rng.choice(known if known and self.rng.random() < 0.7 else tables)

    def columns(self, table: str) -> list[str]:
        """Columns of a table."""
        return [row[1] for row in self.db.execute(f"PRAGMA table_info({quoted(table)})")]

    def rows(self, table: str) -> str:
        """Pick some rows of a table: a condition on rowid."""
        if self.rng.random() < 0.3:
            return "1"
        step = self.rng.choice((2, 3, 7))
        return f"rowid % {step} = {self.rng.randrange(step)}" if table else "1"


def quoted(name: str) -> str:
    """Quote an identifier."""
    return '"' + name.replace('"', '""') + '"'


def drop_table(at: Target) -> None:
    at.db.execute(f"DROP TABLE {quoted(at.table())}")


def empty_table(at: Target) -> None:
    at.db.execute(f"DELETE FROM {quoted(at.table())}")


def drop_column(at: Target) -> None:
    table = at.table()
    at.db.execute(
        f"ALTER TABLE {quoted(table)} DROP COLUMN {quoted(at.rng.choice(at.columns(table)))}"
    )


def rename_table(at: Target) -> None:
    new = f"{at.rng.choice(NAMES)}{at.rng.randrange(3)}"
    at.db.execute(f"ALTER TABLE {quoted(at.table())} RENAME TO {quoted(new)}")


def rename_column(at: Target) -> None:
    table = at.table()
    old = at.rng.choice(at.columns(table))
    new = at.rng.choice((old.upper() + "_", "start2", "x y", "é", old + '"'))
    at.db.execute(f"ALTER TABLE {quoted(table)} RENAME COLUMN {quoted(old)} TO {quoted(new)}")


def retype(at: Target) -> None:
    """Declare every column as something else; the values follow the new affinity."""
    table = at.table()
    kind = at.rng.choice(
        ("TEXT", "REAL", "BLOB", "", "VARCHAR(3)", "BOOLEAN", "INT NOT NULL DEFAULT 0")
    )
    columns = ", ".join(f"{quoted(name)} {kind}" for name in at.columns(table))
    at.db.execute(f"ALTER TABLE {quoted(table)} RENAME TO old_one")
    at.db.execute(f"CREATE TABLE {quoted(table)} ({columns})")
    at.db.execute(f"INSERT OR IGNORE INTO {quoted(table)} SELECT * FROM old_one")
    at.db.execute("DROP TABLE old_one")


def strange_values(at: Target) -> None:
    table = at.table()
    column, value = at.rng.choice(at.columns(table)), at.rng.choice(STRANGE)
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
        place = "CAST(? AS TEXT)"  # so that bytes that are no UTF-8 end up as text
    else:
        place = "?"
    where = at.rows(table)
    at.db.execute(f"UPDATE {quoted(table)} SET {quoted(column)} = {place} WHERE {where}", [value])


def swap_ends(at: Target) -> None:
    table = timed(at)
    at.db.execute(f'UPDATE {quoted(table)} SET start = "end", "end" = start WHERE {at.rows(table)}')


def timed(at: Target) -> str:
    """Pick a table with times; KERNEL may be gone."""
    tables = [name for name in at.tables() if {*TIMES} <= {*at.columns(name)}]
    return at.rng.choice(tables)


def move_times(at: Target) -> None:
    table = timed(at)
    shift = at.rng.choice((10**9, -(10**9), 10**15, -(10**15), 4 * 10**18))
    columns = at.rng.choice((["start"], ["end"], ["start", "end"]))
    change = ", ".join(f"{quoted(name)} = {quoted(name)} + ({shift})" for name in columns)
    at.db.execute(f"UPDATE {quoted(table)} SET {change} WHERE {at.rows(table)}")


def one_instant(at: Target) -> None:
    table = timed(at)
    at.db.execute(f'UPDATE {quoted(table)} SET "end" = start WHERE {at.rows(table)}')


def no_process(at: Target) -> None:
    """Take the process, the device or the correlation away."""
    column = at.rng.choice(("globalPid", "globalTid", "deviceId", "correlationId", "streamId"))
    for table in at.tables():
        if column in at.columns(table):
            value = at.rng.choice(("NULL", "0", "-1", "rowid"))
            at.db.execute(f"UPDATE {quoted(table)} SET {quoted(column)} = {value}")


def duplicate_rows(at: Target) -> None:
    table = at.table()
    at.db.execute(f"CREATE TABLE twice AS SELECT * FROM {quoted(table)} WHERE {at.rows(table)}")
    at.db.execute(f"INSERT OR IGNORE INTO {quoted(table)} SELECT * FROM twice")
    at.db.execute("DROP TABLE twice")


def shuffle_rows(at: Target) -> None:
    table = at.table()
    order = f"rowid * {at.rng.randrange(1, 999)} % 1009"
    at.db.execute(f"CREATE TABLE mixed AS SELECT * FROM {quoted(table)} ORDER BY {order}")
    at.db.execute(f"DELETE FROM {quoted(table)}")
    at.db.execute(f"INSERT INTO {quoted(table)} SELECT * FROM mixed")
    at.db.execute("DROP TABLE mixed")


def view_instead(at: Target) -> None:
    """Put a view that never ends where a table was."""
    table = at.table()
    at.db.execute(f"DROP TABLE {quoted(table)}")
    endless = "WITH RECURSIVE n(start) AS (SELECT 1 UNION ALL SELECT start + 1 FROM n)"
    at.db.execute(f"CREATE VIEW {quoted(table)} AS {endless} SELECT * FROM n")


def foreign_table(at: Target) -> None:
    name = at.rng.choice(("CUPTI_ACTIVITY_KIND_KERNEL_V9", "my notes", "NVTX_EVENTS_2"))
    at.db.execute(f"CREATE TABLE IF NOT EXISTS {quoted(name)} (start, what TEXT)")
    at.db.execute(f"INSERT INTO {quoted(name)} VALUES (1, 'x')")


def trigger(at: Target) -> None:
    table = at.table()
    at.db.execute(
        f"CREATE TRIGGER IF NOT EXISTS KERNEL AFTER INSERT ON {quoted(table)} BEGIN SELECT 1; END"
    )


IN_DATABASE: tuple[Callable[[Target], None], ...] = (
    *(drop_table, empty_table, drop_column, rename_table, rename_column, retype, strange_values),
    *(strange_values, strange_values, swap_ends, move_times, one_instant, no_process),
    *(duplicate_rows, shuffle_rows, view_instead, foreign_table, trigger),
)


def cut_file(rng: Random, path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.choice((0, 15, 100, 4096, len(content) // 2, len(content) - 1))])


def flip_bytes(rng: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice((1, 5, 50))):
        content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(content)


def zero_pages(rng: Random, path: Path) -> None:
    content = bytearray(path.read_bytes())
    pages = len(content) // 4096
    for _ in range(rng.choice((1, 3))):
        page = rng.randrange(pages) * 4096
        content[page : page + 4096] = bytes(4096)
    path.write_bytes(content)


def wal_header(rng: Random, path: Path) -> None:
    """Mark the file as being in WAL mode, as a crashed writer would leave it."""
    content = bytearray(path.read_bytes())
    content[18:20] = bytes((2, 2))
    path.write_bytes(content)
    if rng.random() < 0.5:
        path.with_name(path.name + "-wal").write_bytes(b"" if rng.random() < 0.5 else bytes(64))


ON_FILE = (cut_file, flip_bytes, flip_bytes, zero_pages, wal_header)


def spoil(rng: Random, path: Path) -> str:
    """Apply one to three mutations to a file; say which."""
    done = []
    for _ in range(rng.choice((1, 1, 2, 3))):
        mutation = rng.choice(IN_DATABASE)
        with closing(sqlite3.connect(path)) as db:
            try:
                mutation(Target(rng, db))
            except (sqlite3.Error, OverflowError, IndexError) as error:
                db.rollback()
                done.append(f"{mutation.__name__} (refused: {error})")
                continue
            db.commit()
        done.append(mutation.__name__)
    if rng.random() < 0.15:
        on_file = rng.choice(ON_FILE)
        on_file(rng, path)
        done.append(on_file.__name__)
    return ", ".join(done)
