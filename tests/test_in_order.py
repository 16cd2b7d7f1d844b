"""Annotations that lie in the order of time are not sorted; what comes out is the same."""

from __future__ import annotations

import random
import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nsysflow.convert import in_order
from nsysflow.convert.work import Work
from nsysflow.read import open_raw
from nsysflow.read import sqlite as reader
from tests.support.export import Export
from tests.support.stores import Store, as_input, converted

ROWS = "process, thread, start_ns, end_ns, end_thread, domain, kind, name_id, framework, open"


@pytest.fixture(params=[1, 2, 3])
def readers(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Small tables go the way of large ones, through so many readers."""
    monkeypatch.setattr(in_order, "ROWS_WORTH_FILES", 1)
    monkeypatch.setattr(in_order, "_STEP", 7)
    monkeypatch.setattr(in_order, "_ROW_GROUP", 11)
    monkeypatch.setattr(in_order, "_MOST_WAITING", 20)
    monkeypatch.setattr(reader, "_ROWS_WORTH_A_THREAD", 10)
    return int(request.param)


def annotated(seed: int, rows: int = 150) -> Export:
    """Several threads of two processes with ranges, marks, open ones and registered texts."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable trace, no secret
    export = Export()
    export.kernel("gemm", 10, 20)
    starts = sorted(dice.randrange(400) for _ in range(rows))
    for start in starts:
        name = dice.choice(["step 1", "aten::mm, seq = 4, op_id = 9", "layer", "aten::add"])
        end = dice.choice([start + dice.randrange(50), start, None])
        export.nvtx(
            name,
            start,
            end,
            tid=dice.randrange(1, 6),
            pid=dice.choice([1, 2]),
            registered=dice.random() < 0.5,
        )
    return export


def by_thread(store: Store) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for thread, start in store.as_written("nvtx", "thread, start_ns"):
        found.setdefault(thread, []).append(start)
    return found


def files(store: Store) -> list[str]:
    return sorted(path.name for path in store.folder.glob("nvtx.*parquet"))


@pytest.mark.parametrize("seed", range(6))
def test_the_same_rows_by_thread_and_start(tmp_path: Path, readers: int, seed: int) -> None:
    path = annotated(seed).write_sqlite(tmp_path / "x.sqlite")
    large = converted(path, threads=readers)
    assert len(files(large)) > 1
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_order, "ROWS_WORTH_FILES", 10**9)
        usual = converted(path, threads=readers)
    assert files(usual) == ["nvtx.parquet"]
    assert large.rows("nvtx", ROWS) == usual.rows("nvtx", ROWS)
    assert large.rows("string") == usual.rows("string")
    assert large.capture["dropped"] == usual.capture["dropped"]
    assert all(starts == sorted(starts) for starts in by_thread(large).values())


@pytest.mark.parametrize("seed", range(4))
def test_parts_out_of_order_are_sorted(
    tmp_path: Path, readers: int, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The few rows that were looked at told nothing of the others.
    monkeypatch.setattr(in_order, "_seems_by_time", lambda *_: True)
    path = annotated(seed).write_sqlite(tmp_path / "x.sqlite", shuffle=seed)
    large = converted(path, threads=readers)
    monkeypatch.setattr(in_order, "_seems_by_time", lambda *_: False)
    usual = converted(path, threads=readers)
    assert large.rows("nvtx", ROWS) == usual.rows("nvtx", ROWS)
    assert all(starts == sorted(starts) for starts in by_thread(large).values())


def test_cells_that_are_no_integers(tmp_path: Path, readers: int) -> None:
    path = annotated(5).write_sqlite(tmp_path / "x.sqlite")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE NVTX_EVENTS SET domainId = 'x' WHERE rowid = 140")
    large = converted(path, threads=readers)
    assert len(large.rows("nvtx")) == 150
    assert all(starts == sorted(starts) for starts in by_thread(large).values())


def test_scratch_on_another_disk(tmp_path: Path, readers: int) -> None:
    other = Path("/dev/shm")  # noqa: S108 - a disk of its own where there is one
    if not other.is_dir() or other.stat().st_dev == tmp_path.stat().st_dev:
        pytest.skip("no second disk here")
    path = annotated(2).write_sqlite(tmp_path / "x.sqlite")
    with tempfile.TemporaryDirectory(dir=other) as scratch:
        store = converted(path, threads=readers, temp_dir=Path(scratch))
    assert len(files(store)) > 1
    assert len(store.rows("nvtx")) == 150


def test_the_engine_goes_on_as_before(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(in_order, "ROWS_WORTH_FILES", 1)
    seen = []
    usual = Work.spill

    def spill(work: Work, *arguments: Any) -> bool:
        names = ("threads", "preserve_insertion_order")
        asked = ", ".join(f"current_setting('{name}')" for name in names)
        seen.append(work.connection.execute(f"SELECT {asked}").fetchall())
        return usual(work, *arguments)

    monkeypatch.setattr(Work, "spill", spill)
    converted(annotated(3).write_sqlite(tmp_path / "x.sqlite"), threads=3)
    assert seen == [[(3, False)]]


def sampled(path: Path, table: str = "NVTX_EVENTS", least: int = 1) -> list[tuple[Any, ...]]:
    with open_raw(as_input(path), path.parent, None, 2) as raw:
        return raw.sample(table, least, "start", "globalTid")


def test_rows_that_tell_the_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = annotated(1).write_sqlite(tmp_path / "x.sqlite")
    with closing(sqlite3.connect(path)) as database:
        rows = database.execute("SELECT start, globalTid FROM NVTX_EVENTS").fetchall()
    assert sampled(path) == rows
    assert sampled(path, least=150) == rows
    assert sampled(path, least=151) == []
    assert sampled(path, "OSRT_API") == sampled(path, "StringIds") == []
    monkeypatch.setattr(reader, "_SAMPLES", 10)
    found = sampled(path)
    assert len(found) == 10
    assert [rows.index(row) for row in found] == sorted(rows.index(row) for row in found)
    assert sampled(path) == found


def test_rows_that_are_numbered_from_end_to_end(tmp_path: Path) -> None:
    path = annotated(1, rows=2).write_sqlite(tmp_path / "x.sqlite")
    with closing(sqlite3.connect(path)) as database, database:
        database.execute("UPDATE NVTX_EVENTS SET rowid = -9223372036854775808 WHERE rowid = 1")
        database.execute("UPDATE NVTX_EVENTS SET rowid = 9223372036854775807 WHERE rowid = 2")
    assert sampled(path) == []
    assert len(converted(path).rows("nvtx")) == 2


@pytest.mark.parametrize(("threads", "shuffle"), [(48, None), (49, None), (3, 1)])
def test_few_threads_in_the_order_of_time(
    tmp_path: Path, readers: int, threads: int, shuffle: int | None
) -> None:
    export = Export()
    export.kernel("gemm", 10, 20)
    for start in range(200):
        export.nvtx("layer", start, start + 1, tid=start % threads + 1)
    store = converted(export.write_sqlite(tmp_path / "x.sqlite", shuffle=shuffle), threads=readers)
    assert (len(files(store)) > 1) == (threads <= 48 and shuffle is None)
    assert all(starts == sorted(starts) for starts in by_thread(store).values())
