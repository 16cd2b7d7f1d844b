"""Annotations that lie in the order of time are not sorted; what comes out is the same."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from nsysflow.convert import in_order
from nsysflow.find import Input
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
    monkeypatch.setattr(reader.SqliteTrace, "by_time", lambda *_: True)
    path = annotated(seed).write_sqlite(tmp_path / "x.sqlite", shuffle=seed)
    large = converted(path, threads=readers)
    monkeypatch.setattr(reader.SqliteTrace, "by_time", lambda *_: False)
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


def seems_by_time(path: Path, table: str = "NVTX_EVENTS", least: int = 1) -> Any:
    found: Input = as_input(path)
    with open_raw(found, path.parent, None, 2) as raw:
        return raw.by_time(table, least)


def test_what_seems_to_lie_by_time(tmp_path: Path) -> None:
    path = annotated(1).write_sqlite(tmp_path / "x.sqlite")
    assert seems_by_time(path)
    assert seems_by_time(path, least=150)
    assert not seems_by_time(path, least=151)
    assert not seems_by_time(path, "OSRT_API")
    assert not seems_by_time(path, "StringIds")
    assert not seems_by_time(annotated(1).write_sqlite(tmp_path / "y.sqlite", shuffle=2))
