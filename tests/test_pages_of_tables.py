"""The quick way of reading gives what SQLite gives, or leaves the table to SQLite."""

# ruff: noqa: S311  random tables

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from nsysflow.errors import InputError
from nsysflow.read import Field, Only, RawTrace, Request, blob, integer, open_raw, quick, text
from nsysflow.read.sqlite import SqliteTrace
from tests.support.stores import as_input

# Every size that the format stores an integer in, and its edges.
EDGES = [
    sign * ((1 << bits) + step)
    for bits in (0, 7, 8, 15, 16, 23, 24, 31, 32, 47, 48, 62)
    for step in (-1, 0, 1)
    for sign in (1, -1)
] + [(1 << 63) - 1, -(1 << 63), None, 0, 1]
# Types of one byte end at 57 characters, those of two at 8185.
LENGTHS = (0, 1, 5, 56, 57, 58, 59, 127, 128, 200)
DDL = "a INTEGER, b INTEGER, t TEXT, c INTEGER, u TEXT, d INTEGER, e BIGINT NOT NULL"
FIELDS = (*(integer(name) for name in "abcde"), text("t"), blob("u"))


@pytest.fixture(autouse=True)
def any_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quick, "LEAST_BYTES", 0)


@pytest.fixture
def through_sqlite(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The statements that SQLite had to answer."""
    asked: list[str] = []
    usual = SqliteTrace._batches

    def spy(self: SqliteTrace, statement: str, request: Request) -> Iterator[Any]:
        asked.append(statement)
        return usual(self, statement, request)

    monkeypatch.setattr(SqliteTrace, "_batches", spy)
    return asked


def draw_rows(seed: int, number: int = 3000) -> list[tuple[Any, ...]]:
    dice = random.Random(seed)

    def value() -> int | None:
        return dice.choice(EDGES)

    def words(lengths: tuple[int, ...]) -> str | None:
        return dice.choice([None, "", "é" * dice.choice(lengths), "x" * dice.choice(lengths)])

    constant = value()
    return [
        (constant, value(), words(LENGTHS), 7, words((3, 4)), value(), value() or 0)
        for _ in range(number)
    ]


def make(path: Path, rows: list[tuple[Any, ...]], page_size: int = 4096, ddl: str = DDL) -> Path:
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA page_size = {page_size}")
        db.execute("CREATE TABLE other (x INTEGER)")
        db.execute(f"CREATE TABLE rows_of ({ddl})")
        marks = ", ".join("?" * len(rows[0]))
        # Two tables that grow together lie on pages that take turns.
        for number, row in enumerate(rows):
            db.execute(f"INSERT INTO rows_of VALUES ({marks})", row)
            db.execute("INSERT INTO other VALUES (?)", (number,))
    db.close()
    return path


def read(raw: RawTrace, fields: tuple[Field, ...] = FIELDS, only: Only | None = None) -> list[Any]:
    with duckdb.connect() as connection:
        views = {"_seen": Request("rows_of", fields, only)}
        raw.run(connection, "CREATE TABLE copied AS FROM _seen", views)
        return sorted(connection.execute("FROM copied").fetchall(), key=repr)


def expected(path: Path, columns: str = "a, b, c, d, e, t, CAST(u AS BLOB)") -> list[Any]:
    db = sqlite3.connect(path)
    rows = db.execute(f"SELECT {columns} FROM rows_of").fetchall()
    db.close()
    return sorted(rows, key=repr)


@pytest.mark.parametrize("page_size", [512, 4096, 65536])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("threads", [1, 3])
def test_pages_hold_what_sqlite_reads(
    tmp_path: Path, through_sqlite: list[str], page_size: int, seed: int, threads: int
) -> None:
    rows = draw_rows(seed)
    if page_size == 512:  # longer rows would not fit a page
        rows = [(*row[:2], (row[2] or "")[:60], *row[3:]) for row in rows]
    path = make(tmp_path / "p.sqlite", rows, page_size)
    with open_raw(as_input(path), tmp_path, threads=threads) as raw:
        assert read(raw) == expected(path)
    assert not through_sqlite


def test_rows_older_than_a_column_lack_it(tmp_path: Path, through_sqlite: list[str]) -> None:
    path = make(tmp_path / "p.sqlite", draw_rows(1))
    with sqlite3.connect(path) as db:
        db.execute("ALTER TABLE rows_of ADD COLUMN f INTEGER")
        db.execute("ALTER TABLE rows_of ADD COLUMN g INTEGER DEFAULT 5")
        db.execute("INSERT INTO rows_of VALUES (1, 2, 'x', 3, 'y', 4, 5, 6, 7)")
    db.close()
    with open_raw(as_input(path), tmp_path) as raw:
        assert read(raw, (integer("f"), integer("a"))) == expected(path, "f, a")
        assert not through_sqlite
        # What stands for a value that is not stored is known to SQLite only.
        assert read(raw, (integer("g"),)) == expected(path, "g")
        assert through_sqlite


def test_numbers_made_of_several_columns_and_rows_asked_for(
    tmp_path: Path, through_sqlite: list[str]
) -> None:
    rows = [(n % 7, n, None, 3, None, n * n, 1) for n in range(500)]
    path = make(tmp_path / "p.sqlite", rows)
    fields = (
        Field("product", ("b", "c", "gone", "d"), combine="product"),
        Field("sum", ("b", "d"), combine="sum"),
        integer("absent"),
    )
    with open_raw(as_input(path), tmp_path) as raw:
        found = read(raw, fields, Only("a", (2, 5)))
    assert not through_sqlite
    assert found == sorted(
        [(n * 3 * n * n, n + n * n, None) for n in range(500) if n % 7 in {2, 5}], key=repr
    )


STRAYS = [
    ("a", 1.5, "real"),
    ("a", "text", "text"),
    ("a", b"\x01", "blob"),
    ("t", 5.5, "number in text"),
    ("t", "x" * 9000, "overflow"),
    ("u", "y" * 70000, "long overflow"),
]


@pytest.mark.parametrize(
    ("column", "stray"), [stray[:2] for stray in STRAYS], ids=[stray[2] for stray in STRAYS]
)
@pytest.mark.parametrize("position", [0, 2999])
def test_what_pages_cannot_tell_is_left_to_sqlite(
    tmp_path: Path, through_sqlite: list[str], column: str, stray: object, position: int
) -> None:
    rows = [list(row) for row in draw_rows(2)]
    rows[position]["abtcude".index(column)] = stray
    # Numbers in a text column become text, unless it was not declared as one.
    path = make(tmp_path / "p.sqlite", [tuple(row) for row in rows], ddl=DDL.replace("t TEXT", "t"))
    with open_raw(as_input(path), tmp_path) as raw:
        found = read(raw)
        assert through_sqlite
        if column == "a":
            want = expected(
                path, "CASE typeof(a) WHEN 'integer' THEN a END, b, c, d, e, t, CAST(u AS BLOB)"
            )
            assert raw.strays.copy() == {"non_integer_cells": 1}
        else:
            want = expected(path, "a, b, c, d, e, CAST(t AS TEXT), CAST(u AS BLOB)")
            assert not raw.strays.copy()
        assert found == want


@pytest.mark.parametrize(
    "ddl",
    [
        "a INTEGER PRIMARY KEY, b INTEGER",
        "a REAL, b INTEGER",
        "a TEXT, b INTEGER",
        "b INTEGER, a INTEGER, PRIMARY KEY (b, a)) WITHOUT ROWID --",
        "a INTEGER, b INTEGER, c INTEGER GENERATED ALWAYS AS (a + b) STORED",
    ],
)
def test_tables_of_other_kinds_are_left_to_sqlite(
    tmp_path: Path, through_sqlite: list[str], ddl: str
) -> None:
    path = tmp_path / "p.sqlite"
    with sqlite3.connect(path) as db:
        db.execute(
            f"CREATE TABLE rows_of ({ddl}\n)"
            if "--" not in ddl
            else f"CREATE TABLE rows_of ({ddl}\n"
        )
        db.executemany("INSERT INTO rows_of (a, b) VALUES (?, ?)", [(n, n * 2) for n in range(99)])
    db.close()
    with open_raw(as_input(path), tmp_path) as raw:
        assert read(raw, (integer("a"), integer("b"))) == sorted(
            [(n, n * 2) for n in range(99)], key=repr
        )
    assert through_sqlite


@pytest.mark.parametrize("seed", range(30))
def test_damaged_pages_give_one_line_or_rows_but_never_a_crash(tmp_path: Path, seed: int) -> None:
    dice = random.Random(seed)
    path = make(tmp_path / "p.sqlite", draw_rows(seed, 400))
    content = bytearray(path.read_bytes())
    for _ in range(dice.choice((1, 5, 200))):
        content[dice.randrange(4096, len(content))] = dice.randrange(256)
    path.write_bytes(content)
    said = ""
    try:
        with open_raw(as_input(path), tmp_path, threads=2) as raw:
            read(raw)
    except InputError as error:
        said = str(error)
    assert len(said.splitlines()) <= 1
