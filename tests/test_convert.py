"""A converted trace says what the export said: planted values, one store whatever the form."""

# ruff: noqa: S105, PT018, E501  test data; wide tables of expected rows

from __future__ import annotations

import json
import os
import re
import sqlite3
import struct
from pathlib import Path
from typing import Any

import duckdb
import pytest

from nsysflow import model
from nsysflow.convert import convert_trace, store_key, trace_folder
from nsysflow.convert import trace as conversion
from nsysflow.errors import InputError
from nsysflow.settings import Limits, Settings
from tests.support.export import (
    GRAPH,
    KERNEL,
    MEMCPY,
    RUNTIME,
    SYNC,
    Export,
    global_pid,
    global_tid,
    ms,
)
from tests.support.random_trace import random_run
from tests.support.stores import Store, as_input, converted

HOUR = 3_600_000_000_000
NONE = None
ALL_TABLES = {
    "op": "lane start_ns end_ns kind comm class_rank name_id context stream correlation graph_node graph bytes "
    "copy_kind src_kind dst_kind grid block registers shared_bytes launch_thread launch_start_ns launch_end_ns "
    "launch_name_id",
    "api": "process thread start_ns end_ns name_id correlation return_value callchain",
    "os_call": "process thread start_ns end_ns name_id",
    "sync": "lane process start_ns end_ns stream context type event event_sync correlation",
    "nvtx": "process thread start_ns end_ns end_thread domain kind name_id framework open",
    "nvtx_domain": "process domain name",
    "nccl_call": "process thread start_ns end_ns op bytes comm ranks rank device peer root",
    "string": "id value",
    "thread": "process thread tid name",
    "process": "process pid name",
    "kernel_name": "name_id name short_name comm class class_rank tensor_core op",
    "gpu": "id name uuid bus sm_count memory_bytes bandwidth_bytes_per_s cuda_device nvidia",
    "cuda_device": "gpu_id cuda_id pid uuid sm_count",
    "stream": "process context stream priority flag",
    "context": "process context device null_stream",
    "diagnostic": "timestamp_ns severity source text",
    "overhead": "process thread start_ns end_ns type name_id",
    "memory_event": "process device at_ns bytes operation kind address",
    "callchain": "id depth symbol_id module_id",
    "lane": "lane process pid device",
}


def store_of(export: Export, tmp_path: Path, **options: Any) -> Store:
    return converted(export.write_sqlite(tmp_path / "x.sqlite"), **options)


def refused(path: Path, form: str = "sqlite") -> InputError:
    with pytest.raises(InputError) as caught:
        converted(path, form=form)
    assert path.name in caught.value.message
    assert len(str(caught.value).splitlines()) == 1
    assert not list((path.parent / "store").glob("*"))
    return caught.value


def one_kernel() -> Export:
    export = Export()
    export.kernel("gemm", ms(1), ms(2), launch=(0, 5))
    return export


def columns_of(store: Store) -> dict[str, str]:
    found = {}
    with duckdb.connect() as connection:
        for path in store.folder.glob("*.parquet"):
            rows = connection.execute(f"DESCRIBE FROM read_parquet('{path}')").fetchall()
            found[path.stem] = " ".join(row[0] for row in rows)
    return found


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
TIMES = [
    (NONE, 5, "no_timestamp"),
    (5, NONE, "no_timestamp"),
    (5, -1, "no_timestamp"),
    (-5, -1, "no_timestamp"),
    (0, 0, "no_timestamp"),
    (0, 5, "kept"),
    (-9, -3, "kept"),
    (-9, 0, "kept"),
    (7, 7, "kept"),
    (9, 8, "impossible_duration"),
    (10, 10 + ms(100) + HOUR, "kept"),
    (10, 11 + ms(100) + HOUR, "impossible_duration"),
    (-(1 << 62), 1 << 62, "impossible_duration"),
    (-(1 << 63), (1 << 63) - 1, "impossible_duration"),
    ((1 << 62) + 5, (1 << 62) + 9, "kept"),
    (-(1 << 62), -(1 << 62) + 4, "kept"),
]


def dropped(store: Store) -> dict[str, int]:
    return {kind: number for kind, number in store.capture["dropped"].items() if number}


def planted(kind: str) -> list[tuple[int, int]]:
    return sorted((start, end) for start, end, becomes in TIMES if becomes == kind)


@pytest.mark.parametrize("table", [KERNEL, MEMCPY, GRAPH, RUNTIME, SYNC, "OSRT_API"])
def test_which_times_are_none(tmp_path: Path, table: str) -> None:
    export = Export(strict=False)
    export.memset(1, 3)
    export.duration(ms(100))
    for start, end, _ in TIMES:
        export.row(
            table, start=start, end=end, globalPid=global_pid(100), globalTid=global_tid(100)
        )
    for row in export.rows[table]:
        row["eventClass"] = 27
        for extra in {"globalPid", "globalTid", "eventClass"} - {
            c for c in row if c in _columns(table)
        }:
            row.pop(extra, None)
    store = store_of(export, tmp_path)
    name = {RUNTIME: "api", SYNC: "sync", "OSRT_API": "os_call"}.get(table, "op")
    where = "start_ns, end_ns"
    kept = [row for row in store.rows(name, where) if row != (1, 3)]
    assert kept == planted("kept")
    reasons = [becomes for _, _, becomes in TIMES if becomes != "kept"]
    assert dropped(store) == {reason: reasons.count(reason) for reason in set(reasons)}


def _columns(table: str) -> set[str]:
    from tests.support.tables import columns_of as columns

    return {column.name for column in columns(table)}


def test_without_a_recorded_length_the_host_rows_tell_it(tmp_path: Path) -> None:
    export = Export()
    export.api("cudaLaunchKernel", 1000, 2000)
    export.kernel("a", 0, 1000 + HOUR)
    export.kernel("b", 0, 1001 + HOUR)
    store = store_of(export, tmp_path)
    assert store.texts("op", "text") == [("a",)]
    assert dropped(store) == {"impossible_duration": 1}
    # Without host rows nothing tells what is impossible.
    export = Export()
    export.kernel("b", 0, 1 << 55)
    assert len(store_of(export, tmp_path / "2").rows("op")) == 1


def test_ranges_open_marked_and_dropped(tmp_path: Path) -> None:
    export = one_kernel()
    export.duration(ms(100))
    export.nvtx("closed", 10, 20, tid=5)
    export.nvtx("outer", 10, 30, tid=5)
    for number, end in enumerate((None, 0, -1)):
        export.nvtx(f"open{number}", 40 + number, end, tid=5)
    export.nvtx("before zero", -8, 0, tid=5)
    export.nvtx("nothing", 0, 0, tid=5)
    export.nvtx("ends first", 9, 8, tid=5)
    export.nvtx("too long", 9, 10 + ms(100) + HOUR, tid=5)
    export.nvtx("mark", 50, None, tid=5, kind=34)
    export.nvtx("across", 60, 70, tid=5, kind=60, end_tid=6)
    export.nvtx("a category", 1, None, tid=5, kind=33)
    store = store_of(export, tmp_path)
    columns = "text, start_ns, end_ns, kind, open, end_thread"
    assert store.texts("nvtx", columns, "start_ns, end_ns DESC") == [
        ("before zero", -8, 0, "push_pop", False, NONE),
        ("outer", 10, 30, "push_pop", False, NONE),
        ("closed", 10, 20, "push_pop", False, NONE),
        ("open0", 40, NONE, "push_pop", True, NONE),
        ("open1", 41, NONE, "push_pop", True, NONE),
        ("open2", 42, NONE, "push_pop", True, NONE),
        ("mark", 50, 50, "mark", False, NONE),
        ("across", 60, 70, "start_end", False, global_tid(100, 6)),
    ]
    assert dropped(store) == {"open_ranges": 3, "no_timestamp": 1, "impossible_duration": 2}


def test_what_emit_nvtx_adds_is_taken_off(tmp_path: Path) -> None:
    export = one_kernel()
    texts = {
        "aten::add, op_id = 7": ("aten::add", True),
        "aten::add, seq = 3, op_id = 123": ("aten::add", True),
        "my op, op_id = 5": ("my op", True),
        "my op": ("my op", False),
        "aten::mul, sizes = [[2, 3], []]": ("aten::mul", True),
        "x = 5, seq = no": ("x = 5", False),
        "y = 5": ("y = 5", False),
        "torch::jit": ("torch::jit", True),
        "a torch::jit": ("a torch::jit", False),
        "FSDP::pre_forward, two\nlines, op_id = 1": ("FSDP::pre_forward, two\nlines", True),
        "": ("", False),
    }
    for number, text in enumerate(texts):
        export.nvtx(text, number, number + 1, tid=1)
        export.nvtx(text, number, number + 1, tid=2, registered=True)
    store = store_of(export, tmp_path)
    for tid in (1, 2):
        rows = [
            row[:2]
            for row in store.texts("nvtx", "text, framework, thread, start_ns", "start_ns")
            if row[2] == global_tid(100, tid)
        ]
        assert rows == list(texts.values())
    # One id per text, and one text per id.
    for name in ("aten::add", "my op"):
        inline = [r for r in store.texts("nvtx", "DISTINCT name_id, text, thread") if r[1] == name]
        assert len({row[0] for row in inline if row[2] == global_tid(100, 1)}) == 1
    ids = [row[0] for row in store.rows("string")]
    assert len(ids) == len(set(ids))


def test_any_number_of_texts_is_one_where_only_the_count_differs(tmp_path: Path) -> None:
    export = one_kernel()
    for number in range(60_000):
        export.nvtx(f"aten::add, op_id = {number}", number, number + 1)
        export.nvtx(f"request {number}", number, number + 1)
    store = store_of(export, tmp_path, memory_bytes=100_000_000)
    assert store.texts("nvtx", "count(DISTINCT name_id), count(DISTINCT text), count(text)") == [
        (60_001, 60_001, 120_000)
    ]


def test_order_in_the_file(tmp_path: Path) -> None:
    export = random_run(7)[0]
    export.nvtx("long outer", 5, 5 + 10**10, tid=9)
    export.nvtx("short inner", 5, 6, tid=9)
    export.nvtx("open", 5, None, tid=9)
    path = export.write_sqlite(tmp_path / "x.sqlite", shuffle=3)
    store = converted(path)
    ops = store.as_written("op", "lane, start_ns, end_ns, stream")
    assert ops == sorted(ops) and len(ops) > 20
    nvtx = store.as_written("nvtx", "thread, start_ns, -coalesce(end_ns, 1000000000000000000)")
    assert nvtx == sorted(nvtx) and len(nvtx) > 3


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


def test_overhead_diagnostics_threads_and_memory(tmp_path: Path) -> None:
    export = one_kernel()
    export.overhead("flush", 5, 9, 3)
    export.row(
        "CUPTI_ACTIVITY_KIND_OVERHEAD",
        start=1,
        end=4,
        globalTid=global_tid(100),
        nameId=export.string("lazy loading"),
        overheadType=7,
    )
    for text, severity in (("lost", 3), ("lost", 3), ("note", 1), ("spoken", 4), ("care", 2)):
        export.diagnostic(text, severity)
    export.thread("pt_main", tid=100)
    export.process("python3")
    export.row(
        "CUDA_GPU_MEMORY_USAGE_EVENTS",
        start=8,
        globalPid=global_pid(100),
        deviceId=0,
        bytes=64,
        memKind=2,
        memoryOperationType=1,
        address=1 << 47,
    )
    store = store_of(export, tmp_path)
    assert store.texts("overhead", "text, type, start_ns", "start_ns") == [
        ("lazy loading", 7, 1),
        ("flush", 3, 5),
    ]
    assert store.capture["warnings"] == [
        {"severity": 3, "text": "lost", "count": 2},
        {"severity": 2, "text": "care", "count": 1},
        {"severity": 1, "text": "note", "count": 1},
        {"severity": 4, "text": "spoken", "count": 1},
    ]
    assert len(store.rows("diagnostic")) == 5
    assert store.rows("thread", "tid, name") == [(100, "pt_main")]
    assert store.rows("process", "pid, name") == [(100, "python3")]
    assert store.rows("memory_event", "device, at_ns, bytes, operation, kind, address") == [
        (0, 8, 64, 1, 2, 1 << 47)
    ]


# --- NCCL -------------------------------------------------------------------------------------


def payload(schema: int, content: bytes, *, as_hex: bool = False) -> bytes | str:
    cell = struct.pack("<4Q", 3, schema, len(content), 32) + content
    return cell.hex() if as_hex else cell


def nccl_export() -> Export:
    export = one_kernel()
    entries = {
        100: [
            ("NCCL communicator ID", 18, NONE),
            ("No. of ranks", 5, 8),
            ("Rank", 5, 12),
            ("CUDA device", 5, 16),
        ],
        101: [
            ("NCCL communicator ID", 18, 0),
            ("Message size [bytes]", 22, 8),
            ("Reduction operation", 1 << 24, 16),
        ],
        102: [
            ("NCCL communicator ID", 18, 0),
            ("Message size [bytes]", 22, 8),
            ("Peer rank", 5, 16),
        ],
    }
    for _ in range(2):  # once per process
        for schema, fields in entries.items():
            for index, (name, kind, offset) in enumerate(fields):
                export.row(
                    "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                    domainId=3,
                    schemaId=schema,
                    idx=index,
                    type=kind,
                    name=name,
                    offset=offset,
                )
    export.nvtx("NCCL", 0, None, kind=75, domain=3)
    comm = 0xFEDCBA9876543210
    init = struct.pack("<Qiii", comm, 8, 5, 2)
    reduce = struct.pack("<QQI", comm, 1 << 33, 0)
    send = struct.pack("<QQi", comm, 64, 7)
    calls = [
        ("ncclCommInitRankConfig", payload(100, init), NONE),
        ("ncclAllReduce", payload(101, reduce, as_hex=True), NONE),
        ("ncclSend", payload(102, send), NONE),
        (
            "ncclAllGather",
            NONE,
            json.dumps({"NCCL communicator ID": comm, "Message size [bytes]": 32}),
        ),
        ("ncclGroupStart", NONE, NONE),
        ("ncclBroadcast", payload(999, reduce), "not json"),
        ("ncclReduce", payload(101, reduce)[:40], NONE),
        ("ncclCommCount", NONE, NONE),
        ("something else", NONE, NONE),
    ]
    for number, (name, binary, text) in enumerate(calls):
        at = {"domain": 3, "registered": True, "binaryData": binary, "jsonText": text}
        export.nvtx(name, number * 10, number * 10 + 5, **at)
    return export


def test_what_nccl_says_of_its_calls(tmp_path: Path) -> None:
    store = store_of(nccl_export(), tmp_path)
    comm = "0xfedcba9876543210"
    assert store.rows(
        "nccl_call", "op, bytes, comm, ranks, rank, device, peer, root", "start_ns"
    ) == [
        ("comm_init", NONE, comm, 8, 5, 2, NONE, NONE),
        ("all_reduce", 1 << 33, comm, NONE, NONE, NONE, NONE, NONE),
        ("send_recv", 64, comm, NONE, NONE, NONE, 7, NONE),
        ("all_gather", 32, comm, NONE, NONE, NONE, NONE, NONE),
        ("group_start", NONE, NONE, NONE, NONE, NONE, NONE, NONE),
        ("broadcast", NONE, NONE, NONE, NONE, NONE, NONE, NONE),
        ("reduce", NONE, NONE, NONE, NONE, NONE, NONE, NONE),
    ]
    assert store.capture["rank_evidence"]["nccl"] == [
        {"pid": 100, "rank": 5, "ranks": 8, "device": 2, "comm": comm}
    ]
    assert store.capture["rank_evidence"]["world_size"] == 8
    assert store.rows("nvtx_domain") == [(global_pid(100) >> 24, 3, "NCCL")]


def test_a_domain_number_is_nccl_only_in_its_process(tmp_path: Path) -> None:
    export = one_kernel()
    export.nvtx("NCCL", 0, None, kind=75, domain=1, pid=1)
    export.nvtx("cub", 0, None, kind=75, domain=1, pid=2)
    for pid in (1, 2, 3):
        export.nvtx("ncclAllReduce", 10, 20, domain=1, pid=pid)
        export.nvtx("AllReduce", 30, 40, domain=1, pid=pid)
    rows = store_of(export, tmp_path).rows("nccl_call", "process & 16777215, start_ns")
    # Process 3 lost the name of its domain; there only the full name of a call is believed.
    assert rows == [(1, 10), (1, 30), (3, 10)]


# --- Who is who -------------------------------------------------------------------------------


def test_only_known_variables_leave_the_environment(tmp_path: Path) -> None:
    export = one_kernel()
    secret = "hf_SECRETSECRET"
    export.env(
        RANK="3",
        HF_TOKEN=secret,
        CUDA_VISIBLE_DEVICES="0,1",
        MASTER_ADDR="10.0.0.7",
        LOCAL_RANK=secret,
    )
    export.system("DeviceEnvironment", f"RANK=9;WORLD_SIZE=16;HF_TOKEN={secret};SLURM_PROCID=4")
    export.string(f"SLURM_LOCALID=2\0PATH=/home/{secret}\0SLURM_NODEID=1\0")
    export.string(f"SLURM_LOCALID=2\0PMI_RANK=8\0SLURM_NODEID=7\0TOKEN={secret}")
    stdout = export.string(f"printed {secret}")
    export.row("ProcessStreams", filenameId=export.string("stdout"), contentId=stdout)
    export.string("name\0rest of a buffer")
    export.mpi_rank(6, pid=100)
    export.meta("EXPORT_PARAM_INPUT_PATH_ABS", r"C:\runs\rank7.nsys-rep")
    store = store_of(export, tmp_path)
    assert store.capture["rank_evidence"] == {
        "mpi": [{"pid": 100, "rank": 6}],
        "nccl": [],
        "env": {
            "CUDA_VISIBLE_DEVICES": "0,1",
            "PMI_RANK": "8",
            "RANK": "3",
            "SLURM_LOCALID": "2",
            "SLURM_PROCID": "4",
            "WORLD_SIZE": "16",
        },
        "world_size": 16,
        "input_name": "rank7.nsys-rep",
    }
    texts = [row[1] for row in store.rows("string")]
    assert "name" in texts and "stdout" in texts
    assert not [text for text in texts if "\0" in text or "SLURM" in text]
    for path in store.folder.iterdir():
        with duckdb.connect() as connection:
            reader = "read_parquet" if path.suffix == ".parquet" else "read_text"
            rows = connection.execute(f"FROM {reader}('{path}')").fetchall()
        assert secret not in repr(rows)
        assert "10.0.0.7" not in repr(rows)


def test_the_facts_of_a_capture(tmp_path: Path) -> None:
    export = one_kernel()
    export.session(1_700_000_000_000_000_000, 55)
    export.duration(ms(7))
    export.system("Hostname", "node-7")
    export.capture("PROCESS_0:CUDA_GRAPH_TRACE_OPTIONS:MODE", "Node")
    export.api("late", ms(3), ms(4))
    store = store_of(export, tmp_path)
    capture = store.capture
    assert json.loads((store.folder / "capture.json").read_text()) == capture
    facts = {
        "format": model.STORE_FORMAT,
        "file": "x.sqlite",
        "host": "node-7",
        "utc_start_ns": 1_700_000_000_000_000_000,
        "session_clock_ns": 55,
        "start_ns": 0,
        "end_ns": ms(4),
        "duration_ns": ms(7),
        "graph_mode": "node",
        "schema_version": "3.25.0",
    }
    assert {name: capture[name] for name in facts} == facts
    assert capture["nsys_version"].startswith("2026.2.1")


@pytest.mark.parametrize(
    ("normalize", "shift", "utc"), [("false", "0", 1000), ("false", "300", 700), ("true", "0", 0)]
)
def test_what_utc_was_at_zero(tmp_path: Path, normalize: str, shift: str, utc: int) -> None:
    export = one_kernel()
    export.session(1000)
    export.meta("EXPORT_PARAM_TIME_NORMALIZE", normalize)
    export.meta("EXPORT_PARAM_TIME_SHIFT", shift)
    assert store_of(export, tmp_path).capture["utc_start_ns"] == utc


def test_gpus_of_the_node(tmp_path: Path) -> None:
    export = one_kernel()
    export.gpu(0, "NVIDIA H100", "aaaa", "0000:1b:00.0", cuda=2, memoryBandwidth=5)
    export.gpu(1, "Intel(R) Iris", "", "", smCount=0, totalMemory=0)
    rows = store_of(export, tmp_path).rows(
        "gpu", "id, name, uuid, bus, cuda_device, nvidia, sm_count"
    )
    assert rows == [
        (0, "NVIDIA H100", "aaaa", "0000:1b:00.0", 2, True, 132),
        (1, "Intel(R) Iris", NONE, NONE, NONE, False, 0),
    ]


# --- Generations of the schema ------------------------------------------------------------------

# The oldest tables seen, by hand: no globalPid, no schema table, other names.
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


SCHEMAS = Path(os.environ.get("NSYSFLOW_SCHEMAS", "../shared/schemas"))
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


# --- What cannot be converted ---------------------------------------------------------------------


def test_a_capture_without_gpu_work(tmp_path: Path) -> None:
    export = Export()
    for number in range(200):
        export.api("cudaLaunchKernel_v7000", number, number + 1)
    for number in range(4):
        export.nvtx(f"step {number}", number, number + 1)
    error = refused(export.write_sqlite(tmp_path / "x.sqlite"))
    assert error.no_gpu_work
    assert "no GPU work recorded (CUDA API calls: 200, NVTX ranges: 4)" in error.message
    # The same when every table of the schema is there, or when no device row has a usable time.
    export.lazy = False
    assert refused(export.write_sqlite(tmp_path / "x.sqlite")).no_gpu_work
    export.kernel("a", 0, 0)
    error = refused(export.write_sqlite(tmp_path / "x.sqlite"))
    assert error.no_gpu_work and "without usable times" in error.message


def test_a_capture_that_failed(tmp_path: Path) -> None:
    export = Export()
    export.gpu(0, "NVIDIA H100", "a")
    export.system("Hostname", "h")
    error = refused(export.write_sqlite(tmp_path / "x.sqlite"))
    assert not error.no_gpu_work
    assert error.stage == "convert"
    assert "no event table" in error.message and "TARGET_INFO_GPU" in error.message


def test_kernels_in_an_unknown_table(tmp_path: Path) -> None:
    path = Export().write_sqlite(tmp_path / "x.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V9 (begin INTEGER)")
        db.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER)")
    db.close()
    error = refused(path)
    assert "CUPTI_ACTIVITY_KIND_KERNEL_V9" in error.message and not error.no_gpu_work


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE cookies (id INTEGER)")
    db.close()
    assert "no nsys export" in refused(path).message


def test_foreign_tables_beside_an_export_are_ignored(tmp_path: Path) -> None:
    path = one_kernel().write_sqlite(tmp_path / "x.sqlite")
    with sqlite3.connect(path) as db:
        db.execute('CREATE TABLE "odd ""name" (start TEXT)')
        db.execute("CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 2 AS end")
        db.execute("CREATE TABLE my_notes (note TEXT)")
    db.close()
    store = converted(path)
    assert store.capture["tables"]["NVTX_EVENTS"] == "absent"
    assert len(store.rows("op")) == 1


@pytest.mark.parametrize("column", ["start", "end"])
def test_kernels_without_times_are_said(tmp_path: Path, column: str) -> None:
    export = Export(drop_columns={KERNEL: {column}})
    export.kernel("a", 1, 2)
    assert f"no column {column}" in refused(export.write_sqlite(tmp_path / "x.sqlite")).message


# --- The folder and its key -----------------------------------------------------------------------


def test_the_store_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = one_kernel().write_sqlite(tmp_path / "x.sqlite")
    store = converted(path)
    before = (store.folder / "capture.json").read_bytes()
    stale = (
        store.folder.parent / f".{store.folder.name}.{conversion.socket.gethostname()}-999999999"
    )
    stale.mkdir()
    (stale / "op.parquet").write_bytes(b"half")
    Path(path).write_bytes(b"broken")
    with pytest.raises(InputError):
        converted(path)
    assert (store.folder / "capture.json").read_bytes() == before
    one_kernel().write_sqlite(path)
    again = converted(path)
    assert again.folder == store.folder
    # Nothing is left beside it: no half store, no scratch.
    assert [entry.name for entry in store.folder.parent.iterdir()] == [store.folder.name]


def test_the_input_is_never_touched(tmp_path: Path) -> None:
    run = tmp_path / "run"
    path = one_kernel().write_sqlite(run / "x.sqlite", wal=True)
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(run.iterdir()))
    convert_trace(
        as_input(path), tmp_path / "out" / "x", Settings(), Limits(temp_dir=tmp_path / "t")
    )
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(run.iterdir())) == before


def test_the_key_follows_content_and_settings(tmp_path: Path) -> None:
    path = one_kernel().write_sqlite(tmp_path / "x.sqlite")
    key = store_key(as_input(path), Settings())
    os.utime(path, ns=(1, 1))
    assert store_key(as_input(path), Settings()) == key
    assert store_key(as_input(path), Settings(redact=False)) == key
    assert store_key(as_input(path), Settings(kernel_rules=(("x", "gemm"),))) != key
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    path.write_bytes(changed)
    os.utime(path, ns=(1, 1))
    assert store_key(as_input(path), Settings()) != key
    folder = one_kernel().write_parquetdir(tmp_path / "x_pqtdir")
    key = store_key(as_input(folder, "parquetdir"), Settings())
    (folder / f"{RUNTIME}.parquet").unlink()
    assert store_key(as_input(folder, "parquetdir"), Settings()) != key
    with pytest.raises(InputError):
        store_key(as_input(tmp_path / "gone.sqlite"), Settings())


def test_the_folder_of_a_trace_is_plain_and_its_own() -> None:
    names = [
        trace_folder(as_input(Path(name))) for name in ("a b.sqlite", "a_b.sqlite", "..sqlite")
    ]
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name) for name in names)


# --- Real traces ----------------------------------------------------------------------------------

TRACES = Path(os.environ.get("NSYSFLOW_TRACES", "../shared/traces"))
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
