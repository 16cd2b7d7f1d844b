"""What is read is what is there, nothing is touched, and what cannot be read is said in one line."""

# ruff: noqa: S311, E501  test data; wide tables of expected rows

from __future__ import annotations

import gzip
import hashlib
import os
import random
import sqlite3
import tarfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from nsysflow.errors import InputError
from nsysflow.read import Only, RawTrace, Request, blob, integer, open_raw, text
from nsysflow.read import packed as packing
from nsysflow.read import sqlite as sqlite_reader
from tests.support.export import RUNTIME, Export, ms
from tests.support.stores import as_input

FIELDS = (integer("a"), integer("b"), text("t"))


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(config={"threads": "2"}) as opened:
        yield opened


def make(
    path: Path, rows: list[tuple[Any, ...]], ddl: str = "a INTEGER, b INTEGER, t TEXT"
) -> Path:
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE rows_of ({ddl})")
        marks = ", ".join("?" * ddl.count(",")) + ", ?"
        db.executemany(f"INSERT INTO rows_of VALUES ({marks})", rows)
    db.close()
    return path


@contextmanager
def opened(path: Path, form: str = "sqlite", packed: str | None = None) -> Iterator[RawTrace]:
    work = path.parent / "work"
    work.mkdir(exist_ok=True)
    with open_raw(as_input(path, form, packed), work, threads=2) as raw:
        yield raw


def read(
    connection: duckdb.DuckDBPyConnection, raw: RawTrace, request: Request | None = None
) -> list[tuple[Any, ...]]:
    views = {"_seen": request or Request("rows_of", FIELDS)}
    raw.run(connection, "CREATE OR REPLACE TABLE copied AS FROM _seen", views)
    return connection.execute("FROM copied ORDER BY ALL").fetchall()


def fingerprint(folder: Path) -> dict[str, tuple[str, int]]:
    return {
        str(path.relative_to(folder)): (
            hashlib.sha256(path.read_bytes()).hexdigest(),
            path.stat().st_mtime_ns,
        )
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def failure(path: Path, form: str = "sqlite", packed: str | None = None) -> InputError:
    with pytest.raises(InputError) as caught, opened(path, form, packed):
        pass
    assert len(str(caught.value).splitlines()) == 1
    assert path.name in caught.value.message
    assert caught.value.hint
    return caught.value


@pytest.mark.parametrize("parallel", [True, False])
def test_every_row_comes_once_whatever_its_rowid(
    tmp_path: Path,
    connection: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    parallel: bool,
) -> None:
    monkeypatch.setattr(sqlite_reader, "_ROWS_WORTH_A_THREAD", 10 if parallel else 10**9)
    dice = random.Random(5)
    keys = [-(1 << 62), -7, 0, *range(3, 4000), 1 << 40, (1 << 63) - 1]
    rows = [(key, dice.choice([None, key // 3, -(1 << 63)]), f"x{key}") for key in keys]
    path = make(tmp_path / "r.sqlite", rows, "a INTEGER PRIMARY KEY, b INTEGER, t TEXT")
    with opened(path) as raw:
        assert read(connection, raw) == sorted(rows)
        assert raw.count("rows_of") == len(rows)


def test_a_table_without_rowid_is_read_too(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    rows = [(number, number * 2, "x") for number in range(100)]
    ddl = "a INTEGER, b INTEGER, t TEXT, PRIMARY KEY (a)) WITHOUT ROWID --"
    path = tmp_path / "w.sqlite"
    with sqlite3.connect(path) as db:
        db.execute(f"CREATE TABLE rows_of ({ddl}\n")
        db.executemany("INSERT INTO rows_of VALUES (?, ?, ?)", rows)
    db.close()
    with opened(path) as raw:
        assert read(connection, raw) == rows


@pytest.mark.parametrize("stray", [1.5, "abc", b"\xff\x00", 1e30])
@pytest.mark.parametrize("position", [0, 70_000])
def test_a_stray_cell_costs_itself_only(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, stray: object, position: int
) -> None:
    rows: list[tuple[Any, ...]] = [(number, number, "x") for number in range(70_001)]
    rows[position] = (stray, position, "x")
    with opened(make(tmp_path / "s.sqlite", rows)) as raw:
        found = read(connection, raw)
        assert len(found) == len(rows)
        assert [row for row in found if row[0] is None] == [(None, position, "x")]
        assert raw.strays.copy() == {"non_integer_cells": 1}
        # Read again, the same table is not counted again.
        read(connection, raw)
        assert raw.strays.copy() == {"non_integer_cells": 1}


def test_a_retyped_column_keeps_the_integers_it_holds(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    rows = [("12", 3.0, "x"), ("-5", 4.5, "y"), ("7x", 9.0, "z")]
    with opened(make(tmp_path / "t.sqlite", rows, "a TEXT, b REAL, t TEXT")) as raw:
        assert read(connection, raw) == [(-5, None, "y"), (12, 3, "x"), (None, 9, "z")]


def test_text_that_is_none_is_shown_and_counted(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    path = make(tmp_path / "u.sqlite", [])
    with sqlite3.connect(path) as db:
        for number, value in enumerate(("CAST(x'61ff62' AS TEXT)", "x'c328'", "'é'", "NULL", "5")):
            db.execute(f"INSERT INTO rows_of VALUES ({number}, 0, {value})")
        db.execute("INSERT INTO rows_of VALUES (9, 0, CAST(x'610062' AS TEXT))")
    db.close()
    with opened(path) as raw:
        found = [row[2] for row in read(connection, raw)]
        assert found == ["a\ufffdb", "\ufffd(", "é", None, "5", "a\0b"]
        assert raw.strays.copy() == {"undecodable_text": 2}


def test_a_text_column_may_begin_with_many_nulls(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    rows = [(number, None, None) for number in range(70_000)] + [(70_000, 1, "late")]
    with opened(make(tmp_path / "n.sqlite", rows)) as raw:
        assert read(connection, raw) == rows


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_a_utf16_database_reads_the_same(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, encoding: str
) -> None:
    path = tmp_path / "e.sqlite"
    with sqlite3.connect(path) as db:
        db.execute(f"PRAGMA encoding = '{encoding}'")
        db.execute("CREATE TABLE rows_of (a INTEGER, b INTEGER, t TEXT)")
        db.execute("INSERT INTO rows_of VALUES (1, 2, 'grün 😀')")
    db.close()
    with opened(path) as raw:
        assert read(connection, raw) == [(1, 2, "grün 😀")]


def test_columns_are_found_by_any_of_their_names_and_may_be_absent(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    path = make(tmp_path / "c.sqlite", [(1, b"\x01\x02", "x")], 'OLD INTEGER, "raw" TEXT, t TEXT')
    fields = (integer("a", "new", "old"), integer("gone"), text("lost"), blob("raw"))
    with opened(path) as raw:
        assert read(connection, raw, Request("ROWS_OF", fields)) == [(1, None, None, b"\x01\x02")]
        assert read(connection, raw, Request("rows_of", fields[1:3])) == [(None, None)]
        assert read(connection, raw, Request("nowhere", fields)) == []


def test_only_the_rows_asked_for(tmp_path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    rows = [(number % 5, number, "x") for number in range(50)]
    with opened(make(tmp_path / "o.sqlite", rows)) as raw:
        request = Request("rows_of", FIELDS, Only("a", (1, 3)))
        assert read(connection, raw, request) == sorted(row for row in rows if row[0] in {1, 3})


def test_what_is_no_table_is_never_touched(tmp_path: Path) -> None:
    path = make(tmp_path / "v.sqlite", [(1, 2, "x")])
    with sqlite3.connect(path) as db:
        db.execute(
            "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE r(n) AS"
            " (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT n AS start FROM r"
        )
        db.execute(f"CREATE TRIGGER {RUNTIME} AFTER INSERT ON rows_of BEGIN SELECT 1; END")
        db.execute("CREATE VIRTUAL TABLE OSRT_API USING fts5(start)")
    db.close()
    with opened(path) as raw:
        assert not any(raw.has(name) for name in ("NVTX_EVENTS", RUNTIME, "OSRT_API"))
        assert "rows_of" in raw.tables()
        assert raw.count("NVTX_EVENTS") == 0


@pytest.mark.parametrize("name", ["a b#c?d%41é.sqlite", "ü;&=.sqlite", "q'uote\".sqlite"])
def test_any_file_name(tmp_path: Path, connection: duckdb.DuckDBPyConnection, name: str) -> None:
    with opened(make(tmp_path / name, [(1, 2, "x")])) as raw:
        assert read(connection, raw) == [(1, 2, "x")]


@pytest.mark.parametrize("wal", [None, b""])
def test_a_wal_file_at_rest_is_read_and_left_alone(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, wal: bytes | None
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    path = run / "w.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE rows_of (a INTEGER, b INTEGER, t TEXT)")
    db.execute("INSERT INTO rows_of VALUES (1, 2, 'x')")
    db.commit()
    db.close()
    assert path.read_bytes()[18] == 2
    if wal is not None:
        (run / "w.sqlite-wal").write_bytes(wal)
    before = fingerprint(run)
    (tmp_path / "work").mkdir()
    with open_raw(as_input(path), tmp_path / "work", threads=2) as raw:
        assert read(connection, raw) == [(1, 2, "x")]
    assert fingerprint(run) == before


def test_a_live_wal_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "w.sqlite"
    db = sqlite3.connect(path)
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE rows_of (a INTEGER)")
    db.commit()
    assert "w.sqlite-wal" in failure(path).message
    db.close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "empty"),
        (bytes(8192), "zeros"),
        (random.Random(1).randbytes(8192), "not a SQLite"),
        (b"SQLite format 3\x00", "cut short"),
        (b"SQLite format 3\x00" + bytes(500), "SQLite"),
        (gzip.compress(b"x", mtime=0), "gzip"),
        (b"PAR1" + bytes(100), "Parquet"),
    ],
)
def test_what_is_no_database_is_said_in_one_line(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "x.sqlite"
    path.write_bytes(content)
    assert said in failure(path).message


def test_a_cut_database_is_said_in_one_line(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    path = make(tmp_path / "x.sqlite", [(n, n, "text" * 20) for n in range(5000)])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "cut short" in failure(path).message
    # The same with a header that claims no size, as old writers left it.
    path.write_bytes(whole[:92] + bytes(4) + whole[96 : len(whole) // 2])
    with pytest.raises(InputError, match="cannot be read as SQLite"), opened(path) as raw:
        read(connection, raw)


def test_a_folder_under_the_name_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "x.sqlite").mkdir()
    assert "folder" in failure(tmp_path / "x.sqlite").message


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read(tmp_path: Path) -> None:
    path = make(tmp_path / "x.sqlite", [(1, 2, "x")])
    path.chmod(0)
    assert "ermission" in failure(path).message


def test_reports_and_exports_are_told_apart(tmp_path: Path) -> None:
    export = make(tmp_path / "x.nsys-rep", [(1, 2, "x")])
    assert "rename it to .sqlite" in str(failure(export, "nsys-rep"))
    empty = tmp_path / "y.nsys-rep"
    empty.write_bytes(b"")
    assert "empty" in failure(empty, "nsys-rep").message


def pack(data: bytes, kind: str) -> bytes:
    return gzip.compress(data) if kind == "gz" else zstandard.compress(data)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_packed_files(tmp_path: Path, connection: duckdb.DuckDBPyConnection, kind: str) -> None:
    rows = [(n, n, f"t{n}") for n in range(3000)]
    plain = make(tmp_path / "p.sqlite", rows).read_bytes()
    path = tmp_path / f"p.sqlite.{kind}"
    half = len(plain) // 2
    # Two members one after the other are one file, as parallel packers write them.
    path.write_bytes(pack(plain[:half], kind) + pack(plain[half:], kind))
    with opened(path, packed=kind) as raw:
        assert read(connection, raw) == sorted(rows)


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_packed_files_that_are_broken(
    tmp_path: Path, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"p.sqlite.{kind}"
    whole = pack(random.Random(3).randbytes(300_000), kind)
    path.write_bytes(whole[:-2000])
    assert "unpacked" in failure(path, packed=kind).message
    path.write_bytes(b"SQLite format 3\x00" + bytes(1000))
    assert "is not" in failure(path, packed=kind).message
    path.write_bytes(whole)
    assert "not a SQLite" in failure(path, packed=kind).message
    monkeypatch.setattr(packing, "_RESERVE", 1 << 60)
    assert "no room" in failure(path, packed=kind).message


def small_export() -> Export:
    export = Export()
    export.kernel("gemm", ms(1), ms(2), launch=(0, 5))
    export.system("Hostname", "h")
    return export


API = Request(RUNTIME, (integer("start"), integer("thread", "globalTid"), integer("nameId")))


@pytest.mark.parametrize("form", ["plain", "packed", "tar"])
def test_a_parquetdir_reads_like_the_sqlite_file(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, form: str
) -> None:
    export = small_export()
    # An id with the top bit set is unsigned in Parquet and negative in SQLite.
    export.api("cudaLaunchKernel", 7, 9, more=None, globalTid=-144115188075855872)
    with opened(export.write_sqlite(tmp_path / "x.sqlite")) as raw:
        expected = read(connection, raw, API)
    folder = export.write_parquetdir(tmp_path / "x_pqtdir")
    path, packed = folder, None
    if form == "packed":
        path, packed = tmp_path / "packed" / "x_pqtdir", "zst"
        path.mkdir(parents=True)
        for member in folder.iterdir():
            (path / f"{member.name}.zst").write_bytes(pack(member.read_bytes(), "zst"))
    if form == "tar":
        with tarfile.open(tmp_path / "x.tar", "w") as archive:
            archive.add(folder, "x_pqtdir")
        path, packed = tmp_path / "x_pqtdir.tar.gz", "gz"
        path.write_bytes(pack((tmp_path / "x.tar").read_bytes(), "gz"))
    with opened(path, "parquetdir", packed) as raw:
        assert read(connection, raw, API) == expected
        assert -144115188075855872 in [row[1] for row in expected]
        assert raw.count(RUNTIME) == 2


def test_a_broken_table_of_a_parquetdir_is_named(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection
) -> None:
    folder = small_export().write_parquetdir(tmp_path / "x_pqtdir")
    table = folder / f"{RUNTIME}.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:-20])
    assert table.name in failure(folder, "parquetdir").message
    # A footer that is whole over pages that are not.
    table.write_bytes(whole[:4] + b"\xff" * 60 + whole[64:])
    with pytest.raises(InputError, match="x_pqtdir"), opened(folder, "parquetdir") as raw:
        read(connection, raw, API)
    (tmp_path / "empty_pqtdir").mkdir()
    assert "no Parquet" in failure(tmp_path / "empty_pqtdir", "parquetdir").message


def test_odd_types_in_a_parquetdir(tmp_path: Path, connection: duckdb.DuckDBPyConnection) -> None:
    folder = tmp_path / "x_pqtdir"
    folder.mkdir()
    bad = pa.Array.from_buffers(
        pa.string(), 3, pa.array([b"ok", b"\xff", b"\xc3\xa9"], pa.binary()).buffers()
    )
    table = pa.table(
        {
            "a": pa.array([1.0, 2.5, None]),
            "b": pa.array([(1 << 64) - 1, 5, None], pa.uint64()),
            "t": bad,
        }
    )
    pq.write_table(table, folder / "rows_of.parquet")
    with opened(folder, "parquetdir") as raw:
        found = sorted(read(connection, raw), key=repr)
        assert found == sorted([(1, -1, "ok"), (None, 5, "\ufffd"), (None, None, "é")], key=repr)
        assert raw.strays.copy() == {"non_integer_cells": 1, "undecodable_text": 1}
        request = Request("rows_of", FIELDS, Only("b", (5,)))
        assert read(connection, raw, request) == [(None, 5, "\ufffd")]


@pytest.mark.parametrize("kind", [pa.float64(), pa.int32(), pa.bool_(), pa.list_(pa.string())])
def test_a_column_of_another_kind_costs_itself_only(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, kind: pa.DataType
) -> None:
    folder = tmp_path / "x_pqtdir"
    folder.mkdir()
    times = pa.array([5, -7], pa.timestamp("ns"))
    lengths = pa.array([1, None], pa.duration("ns"))
    stray = pa.nulls(2, kind)
    table = pa.table({"a": times, "b": lengths, "t": stray, "raw": stray})
    pq.write_table(table, folder / "rows_of.parquet")
    with opened(folder, "parquetdir") as raw:
        request = Request("rows_of", (*FIELDS, blob("raw")))
        assert read(connection, raw, request) == [(-7, None, None, None), (5, 1, None, None)]


def test_a_statement_that_fails_leaves_no_thread(
    tmp_path: Path, connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite_reader, "_ROWS_WORTH_A_THREAD", 10)
    rows = [(n, n, "x") for n in range(200_000)]
    before = threading.active_count()
    with opened(make(tmp_path / "f.sqlite", rows)) as raw:
        with pytest.raises(duckdb.Error):
            raw.run(
                connection,
                "CREATE TABLE x AS SELECT CASE WHEN a > 100 THEN error('stop') END FROM _seen",
                {"_seen": Request("rows_of", FIELDS)},
            )
        assert threading.active_count() == before
        assert len(read(connection, raw)) == len(rows)
