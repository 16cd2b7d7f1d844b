"""Every generation of the schema that was seen, and the real traces."""

# ruff: noqa: E501  test data; wide tables of expected rows

from __future__ import annotations

import os
import re
import sqlite3
from pathlib import Path

import pytest

from nsysflow.convert import convert_trace
from nsysflow.errors import InputError
from nsysflow.settings import Limits, Settings
from tests.support.export import (
    GRAPH,
    KERNEL,
    MEMCPY,
    RUNTIME,
    global_pid,
    global_tid,
)
from tests.support.stores import (
    ALL_TABLES,
    Store,
    as_input,
    columns_of,
    converted,
    refused,
)

OLD = """
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'cudaLaunchKernel'), (3, 'range');
CREATE TABLE EXPORT_META_DATA (name TEXT NOT NULL, value TEXT);
INSERT INTO EXPORT_META_DATA VALUES ('EXPORT_PRODUCT_VERSION', '2020.3');
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER, end INTEGER, deviceId INTEGER, contextId INTEGER,
    streamId INTEGER, correlationId INTEGER, shortName INTEGER, gridX INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (10, 20, 1, 1, 7, 5, 1, 6);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER, end INTEGER, nameId INTEGER, correlationId INTEGER);
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (1, 2, 2, 5);
CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);
INSERT INTO NVTX_EVENTS VALUES (1, 9, 59, 'range', 281474976710757);
CREATE TABLE TARGET_INFO_GPU (vmId INTEGER, deviceId INTEGER, name TEXT, busLocation TEXT, isDiscrete INTEGER);
INSERT INTO TARGET_INFO_GPU VALUES (1, 4, 'Tesla V100', '0000:1b:00.0', 1);
CREATE TABLE TARGET_INFO_CUDA_GPU (name TEXT, pciBusId TEXT, globalMemoryBandwidth INTEGER,
    globalMemorySize INTEGER, numMultiprocessors INTEGER, deviceId INTEGER, pid INTEGER);
INSERT INTO TARGET_INFO_CUDA_GPU VALUES ('Tesla V100', '0000:1b:00.0', 900, 32, 80, 1, 77);
CREATE TABLE TARGET_INFO_CUDA_NULL_STREAM (streamId INTEGER, hwId INTEGER, vmId INTEGER, processId INTEGER,
    deviceId INTEGER, contextId INTEGER);
INSERT INTO TARGET_INFO_CUDA_NULL_STREAM VALUES (7, 0, 1, 77, 1, 1);
"""


def test_the_oldest_exports(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with sqlite3.connect(path) as db:
        db.executescript(OLD)
    db.close()
    store = converted(path)
    assert store.texts("op", "text, launch_start_ns, grid, context") == [("gemm", 1, 6, 1)]
    assert store.rows("kernel_name", "name, short_name") == [("gemm", "gemm")]
    assert store.rows("lane") == [(0, 0, 0, 1)]
    assert store.texts("nvtx", "text, domain, thread") == [("range", 0, 281474976710757)]
    assert store.rows("gpu", "id, name, sm_count, cuda_device, nvidia") == [
        (4, "Tesla V100", 80, 1, True)
    ]
    assert store.rows("cuda_device", "cuda_id, pid, sm_count") == [(1, 77, 80)]
    assert store.rows("context", "process, context, device, null_stream") == [
        ((1 << 24) | 77, 1, 1, 7)
    ]
    assert store.capture["nsys_version"] == "2020.3"


TRACES = Path(os.environ.get("NSYSFLOW_TRACES", "../shared/traces"))
SCHEMAS = TRACES.parent / "schemas"
GENERATIONS = sorted(SCHEMAS.glob("*.sql")) if SCHEMAS.is_dir() else []


@pytest.mark.skipif(not GENERATIONS, reason=f"no DDL of real exports in {SCHEMAS}")
@pytest.mark.parametrize("path", GENERATIONS, ids=lambda path: path.stem)
def test_every_generation_seen(tmp_path: Path, path: Path) -> None:
    target = tmp_path / "g.sqlite"
    with sqlite3.connect(target) as db:
        _build(db, path.read_text(encoding="utf-8"))
        tables = {
            row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        }
        values = {"start": 10, "end": 20, "globalPid": global_pid(9), "globalTid": global_tid(9)}
        values |= {
            "demangledName": 1,
            "shortName": 1,
            "nameId": 2,
            "correlationId": 5,
            "eventType": 59,
        }
        for table in sorted(tables - {"StringIds"}):
            _fill(db, table, values)
        db.execute("INSERT INTO StringIds (id, value) VALUES (1, 'gemm'), (2, 'cudaLaunchKernel')")
    db.close()
    if not tables & {KERNEL, MEMCPY, GRAPH, "CUPTI_ACTIVITY_KIND_MEMSET"}:
        assert "no " in refused(target).message
        return
    store = converted(target)
    assert columns_of(store) == ALL_TABLES
    kinds = {
        KERNEL: "kernel",
        MEMCPY: "memcpy",
        GRAPH: "graph",
        "CUPTI_ACTIVITY_KIND_MEMSET": "memset",
    }
    assert sorted(row[0] for row in store.rows("op", "kind")) == sorted(
        kind for table, kind in kinds.items() if table in tables
    )
    launched = 10 if RUNTIME in tables else None
    assert {row[0] for row in store.rows("op", "launch_start_ns")} == {launched}
    assert {row[0] for row in store.rows("lane", "pid")} == {9}


def _build(db: sqlite3.Connection, script: str) -> None:
    made = set()
    for statement in re.sub(r"--[^\n]*", "", script).split(";"):
        name = re.match(r"\s*CREATE\s+(?:TABLE|INDEX)\s+\"?(\w+)", statement)
        if name and name[1].lower() not in made and "TABLE" in statement.split("(")[0].upper():
            made.add(name[1].lower())
            db.execute(statement)


def _fill(db: sqlite3.Connection, table: str, values: dict[str, int]) -> None:
    columns = [row[1:3] for row in db.execute(f'PRAGMA table_info("{table}")')]
    row = [values.get(name, 0 if kind == "INTEGER" else "") for name, kind in columns]
    marks = ", ".join("?" * len(row))
    db.execute(f'INSERT OR IGNORE INTO "{table}" VALUES ({marks})', row)


REAL = sorted(TRACES.rglob("*.sqlite")) if TRACES.is_dir() else []
WITHOUT_GPU = {"cpu_only_non_utf8": True, "nvtx_only_tensorrt": True, "failed_capture_2021": False}


@pytest.mark.slow
@pytest.mark.skipif(not REAL, reason=f"no real traces in {TRACES}")
@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_real_traces_hold_what_their_tables_hold(tmp_path: Path, path: Path) -> None:
    found, target = as_input(path), tmp_path / "x"
    if path.stem in WITHOUT_GPU:
        with pytest.raises(InputError) as caught:
            convert_trace(found, target, Settings(), Limits())
        assert caught.value.no_gpu_work == WITHOUT_GPU[path.stem]
        return
    store = Store(target, convert_trace(found, target, Settings(), Limits()))
    uri = f"{path.absolute().as_uri()}?mode=ro&immutable=1"
    db = sqlite3.connect(uri, uri=True)
    tables = {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}

    def total(table: str, where: str = "") -> tuple[int, int]:
        if table not in tables:
            return 0, 0
        sums = db.execute(f'SELECT count(*), coalesce(sum("end" - start), 0) FROM {table} {where}')
        return tuple(sums.fetchone())

    for kind, table in (("kernel", KERNEL), ("memcpy", MEMCPY), ("graph", GRAPH)):
        rows = store.rows("op", f"end_ns - start_ns, kind = '{kind}'")
        times = [row[0] for row in rows if row[1]]
        assert (len(times), sum(times)) == total(table)
    api = [row[0] for row in store.rows("api", "end_ns - start_ns")]
    assert (len(api), sum(api)) == total(RUNTIME)
    calls = [row[0] for row in store.rows("os_call", "end_ns - start_ns")]
    assert (len(calls), sum(calls)) == total("OSRT_API", "WHERE eventClass = 27")
    matched = db.execute(
        f"SELECT count(*) FROM {KERNEL} k WHERE EXISTS (SELECT 1 FROM {RUNTIME} r"
        " WHERE r.correlationId = k.correlationId AND r.globalTid >> 24 = k.globalPid >> 24)"
    ).fetchone()[0]
    rows = store.rows("op", "launch_thread IS NOT NULL, kind")
    assert rows.count((True, "kernel")) == matched
    names = db.execute(
        f"SELECT s.value, count(*) FROM {KERNEL} k JOIN StringIds s ON s.id = k.demangledName GROUP BY 1"
    )
    seen: dict[str, int] = {}
    for (name,) in store.texts("op", "text", "text"):
        if name is not None:
            seen[name] = seen.get(name, 0) + 1
    assert seen == dict(names.fetchall())
    db.close()
