"""One store for one capture, whatever its form: device work, its launches, its lanes."""

# ruff: noqa: E501  test data; wide tables of expected rows

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from nsysflow import model
from tests.support.export import (
    KERNEL,
    RUNTIME,
    Export,
    global_pid,
    global_tid,
    ms,
)
from tests.support.random_trace import random_run
from tests.support.stores import (
    ALL_TABLES,
    columns_of,
    converted,
    one_kernel,
    store_of,
)

NONE = None


def test_every_table_is_there_with_its_columns(tmp_path: Path) -> None:
    assert columns_of(store_of(one_kernel(), tmp_path)) == ALL_TABLES


def test_a_kernel_with_all_that_is_known_of_it(tmp_path: Path) -> None:
    export = Export()
    shape = {"gridX": 7, "gridY": 3, "gridZ": 2, "blockX": 32, "blockY": 4, "blockZ": 2}
    memory = {"staticSharedMemory": 100, "dynamicSharedMemory": 23, "registersPerThread": 77}
    export.kernel(
        "void gemm<float>(int)",
        ms(10),
        ms(12),
        node=5,
        device=3,
        stream=9,
        context=2,
        pid=42,
        tid=43,
        correlation=17,
        launch=(ms(1), ms(2)),
        more=shape | memory | {"graphId": 8},
    )
    store = store_of(export, tmp_path)
    names = {value: number for number, value in store.rows("string")}
    (row,) = store.rows("op")
    found = dict(zip(ALL_TABLES["op"].split(), row, strict=True))
    class_rank = found.pop("class_rank")
    assert class_rank in range(len(model.CLASSES))
    assert found == {
        "lane": 0,
        "start_ns": ms(10),
        "end_ns": ms(12),
        "kind": "kernel",
        "comm": False,
        "name_id": names["void gemm<float>(int)"],
        "context": 2,
        "stream": 9,
        "correlation": 17,
        "graph_node": 5,
        "graph": 8,
        "bytes": None,
        "copy_kind": None,
        "src_kind": None,
        "dst_kind": None,
        "grid": 42,
        "block": 256,
        "registers": 77,
        "shared_bytes": 123,
        "launch_thread": global_tid(42, 43),
        "launch_start_ns": ms(1),
        "launch_end_ns": ms(2),
        "launch_name_id": names["cudaLaunchKernel_v7000"],
    }
    assert store.rows("lane") == [(0, global_pid(42) >> 24, 42, 3)]
    assert store.capture["lanes"] == [
        {"lane": 0, "process": global_pid(42) >> 24, "pid": 42, "device": 3, "ops": 1}
    ]


def test_copies_between_devices_are_communication(tmp_path: Path) -> None:
    export = Export()
    export.memcpy(10, 0, 5)
    export.memcpy(8, 10, 15, more={"srcDeviceId": 0, "dstDeviceId": 1})
    export.memcpy(8, 20, 25, more={"srcDeviceId": 1, "dstDeviceId": 1})
    export.memcpy(8, 30, 35, more={"srcDeviceId": 1})
    export.memcpy(1, 40, 45, src=0, dst=2, nbytes=640)
    export.memset(50, 55, more={"memKind": 2})
    export.graph(60, 65, graph=4)
    rows = store_of(export, tmp_path).rows(
        "op", "start_ns, kind, comm, class_rank, copy_kind, src_kind, dst_kind, bytes, graph"
    )
    assert rows == [
        (0, "memcpy", True, NONE, 10, NONE, NONE, 4, NONE),
        (10, "memcpy", True, NONE, 8, NONE, NONE, 4, NONE),
        (20, "memcpy", False, NONE, 8, NONE, NONE, 4, NONE),
        (30, "memcpy", False, NONE, 8, NONE, NONE, 4, NONE),
        (40, "memcpy", False, NONE, 1, 0, 2, 640, NONE),
        (50, "memset", False, NONE, NONE, NONE, 2, 4, NONE),
        (60, "graph", False, NONE, NONE, NONE, NONE, NONE, 4),
    ]


# start, end, what becomes of it


def test_order_in_the_file(tmp_path: Path) -> None:
    export = random_run(7)[0]
    export.nvtx("long outer", 5, 5 + 10**10, tid=9)
    export.nvtx("short inner", 5, 6, tid=9)
    export.nvtx("open", 5, None, tid=9)
    path = export.write_sqlite(tmp_path / "x.sqlite", shuffle=3)
    store = converted(path)
    ops = store.as_written("op", "lane, start_ns, end_ns, stream")
    assert ops == sorted(ops)
    assert len(ops) > 20
    nvtx = store.as_written("nvtx", "thread, start_ns, -coalesce(end_ns, 1000000000000000000)")
    assert nvtx == sorted(nvtx)
    assert len(nvtx) > 3


def test_each_op_gets_one_launch_of_its_own_process(tmp_path: Path) -> None:
    export = Export()
    # Two processes use the same correlation; one call starts a thousand graph nodes.
    export.api("cudaGraphLaunch", 10, 20, pid=1, correlation=5)
    export.api("cudaLaunchKernel", 11, 12, pid=2, correlation=5)
    for node in range(1000):
        export.kernel(f"node{node % 3}", 100 + node, 101 + node, pid=1, correlation=5, node=node)
    export.kernel("other", 100, 200, pid=2, correlation=5)
    export.kernel("lonely", 300, 400, pid=2, correlation=6)
    export.kernel("unknown", 500, 600, pid=2)
    store = store_of(export, tmp_path)
    columns = "lane, launch_start_ns, launch_thread, count(*)"
    assert store.rows("op", columns.replace("count(*)", "count(*) OVER ()"), "ALL")[0][3] == 1003
    with duckdb.connect() as connection:
        rows = connection.execute(
            f"SELECT {columns} FROM read_parquet('{store.folder / 'op.parquet'}') GROUP BY ALL ORDER BY ALL"
        ).fetchall()
    assert rows == [
        (0, 10, global_tid(1), 1000),
        (1, 11, global_tid(2), 1),
        (1, NONE, NONE, 2),
    ]


def test_of_nested_calls_the_outermost_is_the_launch(tmp_path: Path) -> None:
    export = Export()
    export.api("cuLaunchKernel", 12, 18, correlation=5)
    export.api("cudaLaunchKernel", 10, 20, correlation=5, tid=7)
    export.api("cuInner", 10, 15, correlation=5)
    export.api("cudaLaunchKernel", 30, 40, correlation=6)
    export.kernel("a", 100, 101, correlation=5)
    export.kernel("a", 102, 103, correlation=5)
    export.memcpy(1, 104, 105, correlation=6)
    rows = store_of(export, tmp_path).rows(
        "op", "start_ns, launch_start_ns, launch_end_ns, launch_thread"
    )
    outer = (10, 20, global_tid(100, 7))
    assert rows == [(100, *outer), (102, *outer), (104, 30, 40, global_tid(100))]


def test_lanes_are_processes_on_devices_in_the_order_of_pids(tmp_path: Path) -> None:
    export = Export()
    export.kernel("a", 1, 2, pid=300, device=1)
    export.memset(1, 2, pid=300, device=0)
    export.graph(1, 2, pid=20, device=1)
    export.memcpy(1, 0, 0, pid=10, device=0)
    export.sync(3, 1, 2, pid=300, device=0)
    export.sync(3, 1, 2, pid=77, device=0)
    store = store_of(export, tmp_path)
    assert store.rows("lane", "lane, pid, device") == [(0, 20, 1), (1, 300, 0), (2, 300, 1)]
    assert store.rows("sync", "process & 16777215, lane") == [(77, NONE), (300, 1)]
    assert store.rows("process", "pid, name") == [(20, NONE), (300, NONE)]


def test_a_high_process_id_is_negative_in_every_form(tmp_path: Path) -> None:
    export = Export()
    high = -144115188075855872 | (100 << 24)
    export.kernel("a", 1, 2, more={"globalPid": high, "correlationId": 3})
    export.row(
        RUNTIME,
        start=0,
        end=1,
        globalTid=high | 5,
        correlationId=3,
        nameId=export.string("cudaLaunch"),
    )
    for store in (
        store_of(export, tmp_path),
        converted(export.write_parquetdir(tmp_path / "x_pqtdir"), form="parquetdir"),
    ):
        assert store.rows("lane", "process, pid") == [(high >> 24, 100)]
        assert store.rows("op", "launch_thread") == [(high | 5,)]


@pytest.mark.parametrize("seed", range(4))
def test_the_form_and_the_order_of_rows_change_nothing(tmp_path: Path, seed: int) -> None:
    export = random_run(seed)[0]
    export.gpu(0, "NVIDIA H100", "GPU-a")
    export.diagnostic("lost events", 3)
    export.env(RANK="3", WORLD_SIZE="8")
    export.process("python")
    export.thread("main")
    first = store_of(export, tmp_path)
    others = [
        converted(export.write_sqlite(tmp_path / "shuffled.sqlite", shuffle=seed)),
        converted(export.write_sqlite(tmp_path / "wal.sqlite", wal=True)),
        converted(
            export.write_parquetdir(tmp_path / "p_pqtdir", shuffle=seed + 1), form="parquetdir"
        ),
    ]
    for other in others:
        for table in ALL_TABLES:
            assert other.rows(table) == first.rows(table), table
        same = {"file", "key"}
        assert {k: v for k, v in other.capture.items() if k not in same} == {
            k: v for k, v in first.capture.items() if k not in same
        }


def test_an_export_with_every_table_of_the_schema(tmp_path: Path) -> None:
    export = Export(lazy=False)
    export.kernel("gemm", ms(1), ms(2), launch=(0, 5))
    store = store_of(export, tmp_path)
    states = store.capture["tables"]
    assert states[KERNEL] == states[RUNTIME] == "present"
    assert states["NVTX_EVENTS"] == states["OSRT_API"] == "empty"
    lazy = converted(one_kernel().write_sqlite(tmp_path / "lazy.sqlite")).capture["tables"]
    assert lazy["NVTX_EVENTS"] == "absent"
    assert set(states) == set(lazy)
