"""Which times are none, which ranges are open, and what annotations are called."""

from __future__ import annotations

from pathlib import Path

import pytest

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
from tests.support.stores import (
    dropped,
    one_kernel,
    store_of,
)

HOUR = 3_600_000_000_000
NONE = None

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
    ((1 << 63) - 9, (1 << 63) - 1, "kept"),
]


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
