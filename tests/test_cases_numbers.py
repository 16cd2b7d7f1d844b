"""Public problem reports on numbers, each with its siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsysflow.findings.base import COPIES
from nsysflow.render.words import MEMORY_KIND
from tests.support.command import report
from tests.support.export import Export, ms, us
from tests.support.one_rank import run_one

if TYPE_CHECKING:
    from pathlib import Path

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"


# M01, M03, M04: level 1


def test_m01_busy_is_a_union(tmp_path: Path) -> None:
    export = Export()
    export.kernel("gemm", ms(0), ms(80), stream=7, launch=(0, us(5)))
    export.kernel(NCCL, ms(50), ms(100), stream=20, launch=(us(10), us(15)))
    document = run_one(tmp_path, export)
    assert document["buckets"] == {
        "window_ns": ms(100),
        "compute_only": ms(50),
        "compute_comm_overlap": ms(30),
        "exposed_comm": ms(20),
        "exposed_mem": 0,
        "graph_opaque": 0,
        "idle": 0,
    }
    overlap = document["overlap"]
    assert (overlap["comm_ns"], overlap["overlapped_ns"], overlap["exposed_ns"]) == (
        ms(50),
        ms(30),
        ms(20),
    )
    assert overlap["overlap_frac"] == 0.6


def test_m03_a_sync_row_is_no_work(tmp_path: Path) -> None:
    export = Export()
    export.kernel(NCCL, ms(0), ms(100), stream=20, launch=(0, us(5)))
    export.kernel("gemm", ms(0), ms(30), stream=7, launch=(us(10), us(15)))
    export.sync(3, ms(30), ms(100), launch=(ms(30), ms(100)))
    document = run_one(tmp_path, export)
    assert document["overlap"]["overlap_frac"] == 0.3
    assert document["buckets"]["exposed_comm"] == ms(70)


@pytest.mark.parametrize(
    "name",
    [
        NCCL,
        "ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*, unsigned long, ncclWork*)",
        "ncclSymkDevKernel_AllReduce_RSxLDMC_AGxSTMC_sum_bf16(ncclSymkDevWorkArgs4K)",
        "ncclAllReduceRingLLKernel_sum_f16(ncclColl)",
        "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>",
    ],
)
def test_m04_communication_under_every_name(tmp_path: Path, name: str) -> None:
    export = Export()
    export.kernel(name, ms(0), ms(10), stream=20)
    export.kernel("gemm", ms(5), ms(15), stream=7)
    document = run_one(tmp_path, export)
    overlap = document["overlap"]
    assert (overlap["comm_ns"], overlap["exposed_ns"], overlap["overlap_frac"]) == (
        ms(10),
        ms(5),
        0.5,
    )


def test_m04_no_communication_is_not_a_division_by_zero(tmp_path: Path) -> None:
    quiet = Export()
    quiet.kernel("gemm", ms(0), ms(40), launch=(0, us(5)))
    overlap = run_one(tmp_path, quiet)["overlap"]
    assert overlap["status"] == "not_applicable"
    assert (overlap["comm_ns"], overlap["overlap_frac"]) == (0, None)


# N01, N03: annotations


@pytest.mark.parametrize("end", [None, 0, -1])
@pytest.mark.parametrize("outer", [False, True])
def test_n01_ranges_that_never_close(tmp_path: Path, outer: bool, end: int | None) -> None:
    export = Export()
    if outer:
        export.nvtx("train", us(1), end)
    for step in range(4):
        begin = ms(100 * step) + us(2)
        export.nvtx(f"step {step}", begin, ms(100 * step + 100) + us(2) if step < 3 else end)
        launch = (begin + us(10), begin + us(20))
        length = 90 if step < 3 else 40
        export.kernel("gemm", begin + ms(10), begin + ms(10 + length), launch=launch)
    document = run_one(tmp_path, export)
    steps = document["steps"]
    assert (steps["source"], steps["kept"], steps["median_ns"]) == ("nvtx_step", 3, ms(100))
    assert [item["reason"] for item in steps["dropped"]] == ["open"]
    assert document["capture"]["dropped"]["open_ranges"] == (2 if outer else 1)
    for item in document["nvtx"]["items"]:
        assert 0 <= item["host_ns"] <= ms(400)


def test_n03_backward_on_its_own_thread(tmp_path: Path) -> None:
    export = Export()
    export.nvtx("backward", ms(0), ms(50), tid=100)
    export.nvtx("AddmmBackward0", ms(5), ms(45), tid=177)
    for index in range(8):
        begin = ms(6 + 4 * index)
        export.kernel("gemm", begin + us(20), begin + ms(2), launch=(begin, begin + us(9)), tid=177)
    export.thread("pt_autograd_0", tid=177)
    document = run_one(tmp_path, export)
    rows = {item["path"]: item for item in document["nvtx"]["items"]}
    work = 8 * (ms(2) - us(20))
    # The autograd thread works for the main thread's range, and says so in its path.
    assert set(rows) == {"backward", "backward / AddmmBackward0"}
    for row in rows.values():
        assert (row["count"], row["projected_ns"], row["work_ns"]) == (1, work, work)


@pytest.mark.parametrize(
    ("kind", "src", "dst", "pageable"),
    [
        (1, 0, 2, True), (1, 1, 2, False), (1, 1, None, False), (1, None, 2, None), (1, 7, 2, None),
        (2, 2, 0, True), (2, None, 1, False), (2, 2, None, None), (8, 2, 2, False),
        (8, None, 2, None), (9, 0, None, True), (1, None, None, None),
    ],
)  # fmt: skip
def test_memory_of_an_unknown_kind_is_not_called_pinned(
    tmp_path: Path, kind: int, src: int | None, dst: int | None, pageable: bool | None
) -> None:
    export = Export()
    export.memcpy(kind, ms(1), ms(2), 100, src=src, dst=dst, launch=(0, us(5)))
    export.kernel("gemm", ms(3), ms(4), launch=(us(10), us(15)))
    (row,) = run_one(tmp_path, export)["memory"]["items"]
    assert row["pageable"] is pageable


# S01: the hunt for item copies


def item_export(api: str = "cudaStreamSynchronize_v3020", *, copy: bool = True) -> Export:
    """Four steps of 100 ms; in each the host waits 45 ms and then idles until the next step."""
    export = Export()
    export.kernel("warm_up", us(10), ms(1), launch=(0, us(5)))
    for step in range(4):
        begin = ms(100 * step + 100)
        export.nvtx(f"step {step}", begin, begin + ms(100))
        export.kernel(
            "gemm", begin + ms(5), begin + ms(50), launch=(begin + ms(1), begin + ms(1.1))
        )
        export.nvtx("optimizer.step", begin + ms(5), begin + ms(52))
        if copy:
            end = begin + ms(50) + us(2)
            export.memcpy(2, begin + ms(50), end, 4, src=2, dst=1,
                          launch=(begin + ms(5.9), begin + ms(6)))  # fmt: skip
        export.sync(3, begin + ms(6.1), begin + ms(50.9),
                    launch=(begin + ms(6), begin + ms(51)), api=api)  # fmt: skip
    return export


def test_s01_item_copies_are_found(tmp_path: Path) -> None:
    document = run_one(tmp_path, item_export())
    assert document["steps"]["kept"] == 4
    (item,) = document["syncs"]["items"]
    assert item["kind"] == "item_copy"
    assert item["nvtx_path"] == "optimizer.step"
    assert (item["count"], item["per_step"], item["host_ns"]) == (4, 1.0, ms(180))
    # A wait of 45 ms can cost no more than 45 ms; the last step has no gap behind it.
    assert item["idle_caused_ns"] == 3 * ms(45)
    assert document["causes"]["idle"]["host_sync"] == 3 * ms(45)
    assert item["copy_kind"] == "d2h"


@pytest.mark.parametrize(
    ("kind", "word"),
    [(0, None), (1, "h2d"), (3, "h2a"), (4, "a2h"), (5, "a2a"), (6, "a2d"), (7, "d2a"), (9, "h2h")],
)
def test_a_wait_names_the_direction_of_its_copy_as_copies_do(
    tmp_path: Path, kind: int, word: str | None
) -> None:
    export = Export()
    export.kernel("gemm", 0, ms(1))
    export.memcpy(kind, ms(2), ms(3), 4, launch=(ms(1.5), ms(3.1)), api="cudaMemcpy2D_v3020")
    document = run_one(tmp_path, export)
    (wait,), (row,) = document["syncs"]["items"], document["memory"]["items"]
    assert (wait["copy_kind"], row["kind"]) == (word, word or "unknown")
    # On the page and in a finding it has a name in words.
    assert word is None or (word in COPIES and word in MEMORY_KIND)


def test_s01_bytes_are_those_of_the_calls_counted(tmp_path: Path) -> None:
    """A wait before the first step costs that step time, and is no call of it."""
    export = Export()
    for step in range(-1, 4):
        begin = ms(100 * step + 100)
        if step >= 0:
            export.nvtx(f"step {step}", begin, begin + ms(100))
        export.kernel("gemm", begin + ms(5), begin + ms(50), launch=(begin + ms(1), begin + ms(2)))
        called = (begin + ms(6), begin + ms(51))
        export.memcpy(2, begin + ms(50), begin + ms(51), 1000, src=2, dst=0, launch=called,
                      api="cudaMemcpy_v3020")  # fmt: skip
    (item,) = run_one(tmp_path, export)["syncs"]["items"]
    assert (item["kind"], item["count"], item["bytes"]) == ("sync_memcpy", 4, 4000)
    assert item["idle_caused_ns"] == 4 * ms(45)


@pytest.mark.parametrize(
    ("api", "kind"),
    [
        ("cudaDeviceSynchronize_v3020", "device_sync"),
        ("cudaStreamSynchronize_v3020", "stream_sync"),
        ("cudaEventSynchronize_v3020", "event_sync"),
        ("cuCtxSynchronize", "device_sync"),
    ],
)
def test_s01_a_plain_sync_is_something_else(tmp_path: Path, api: str, kind: str) -> None:
    document = run_one(tmp_path, item_export(api, copy=False))
    (item,) = document["syncs"]["items"]
    assert (item["kind"], item["count"], item["host_ns"]) == (kind, 4, ms(180))
    assert item["idle_caused_ns"] == 3 * ms(45)


def test_s01_waiting_while_the_gpu_works_costs_nothing(tmp_path: Path) -> None:
    export = Export()
    export.kernel("gemm", ms(1), ms(50), launch=(0, us(5)))
    export.kernel("gemm", ms(50), ms(90), launch=(us(10), us(15)))
    export.sync(3, ms(2), ms(49), launch=(ms(2), ms(49)))
    document = run_one(tmp_path, export)
    (item,) = document["syncs"]["items"]
    assert (item["host_ns"], item["idle_caused_ns"]) == (ms(47), 0)


@pytest.mark.parametrize(
    ("outer", "inner", "kind"),
    [
        ("cudaStreamSynchronize_v3020", "cuStreamSynchronize", "item_copy"),
        ("cudaMemcpy_v3020", "cuMemcpyDtoH_v2", "sync_memcpy"),
    ],
)
def test_s01_a_driver_call_inside_its_runtime_call_is_no_second_wait(
    tmp_path: Path, outer: str, inner: str, kind: str
) -> None:
    export = item_export(outer, copy=kind == "item_copy")
    for step in range(4):
        begin = ms(100 * step + 100)
        export.api(inner, begin + ms(6.01), begin + ms(50.99))
    (item,) = run_one(tmp_path, export)["syncs"]["items"]
    assert (item["api"], item["kind"]) == (outer.removesuffix("_v3020"), kind)
    assert (item["count"], item["host_ns"]) == (4, ms(180))
    assert item["idle_caused_ns"] == 3 * ms(45)


@pytest.mark.parametrize("api", ["cudaStreamSynchronize_v3020", "cudaMemcpy_v3020"])
def test_s01_a_fetch_belongs_to_the_first_wait_after_it(tmp_path: Path, api: str) -> None:
    """The device sync right behind it waits for the rest of the work."""
    export = item_export(copy=False)
    waited = "Memcpy" in api
    for step in range(4):
        begin = ms(100 * step + 151)
        copied = (begin + us(3), begin + us(5))
        call = (begin + us(2), begin + us(6)) if waited else (begin + us(1), begin + us(2))
        export.memcpy(2, *copied, 4, src=2, dst=1, launch=call,
                      api=api if waited else "cudaMemcpyAsync_v3020")  # fmt: skip
        if not waited:
            export.api(api, begin + us(3), begin + us(6))
        export.api("cudaDeviceSynchronize_v3020", begin + us(7), begin + us(9))
    rows = {
        (row["api"], row["kind"]): row["bytes"]
        for row in run_one(tmp_path, export)["syncs"]["items"]
    }
    assert rows[("cudaDeviceSynchronize", "device_sync")] is None
    assert rows[(api.removesuffix("_v3020"), "sync_memcpy" if waited else "item_copy")] == 16
    assert len(rows) == 3


# G01: one graph launch, a thousand kernels


@pytest.mark.parametrize("correlated", [True, False])
def test_g01_a_launch_counts_once(tmp_path: Path, correlated: bool) -> None:
    export = Export()
    correlation = export.api("cudaGraphLaunch_v10000", 0, us(20), correlation=50)
    for node in range(1000):
        begin = us(30 + 10 * node)
        export.kernel("gemm", begin, begin + us(10), node=node,
                      correlation=correlation if correlated else None)  # fmt: skip
    document = run_one(tmp_path, export)
    (call,) = document["api"]["items"]
    assert (call["count"], call["total_ns"]) == (1, us(20))
    (kernel,) = document["kernels"]["top"]
    assert (kernel["count"], kernel["work_ns"]) == (1000, ms(10))
    assert document["buckets"]["compute_only"] == ms(10)
    assert document["causes"]["idle"].get("launch_latency", 0) == 0


def test_g01_graph_rows_are_work_but_no_kernels(tmp_path: Path) -> None:
    export = Export()
    for replay in range(3):
        begin = ms(10 * replay)
        export.graph(begin + us(30), begin + ms(9), launch=(begin, begin + us(20)))
    document = run_one(tmp_path, export)
    assert document["buckets"]["graph_opaque"] == 3 * (ms(9) - us(30))
    assert document["capture"]["counts"]["graph_rows"] == 3
    assert document["kernels"]["top"] == []


# T01: files that do not share a clock


@pytest.mark.parametrize("session", [True, False])
def test_t01_no_times_across_files(tmp_path: Path, session: bool) -> None:
    for rank, (epoch, begin) in enumerate(
        [(1_700_000_000_000_000_000, ms(12_000)), (1_700_000_011_560_000_000, ms(441.6))]
    ):
        export = Export()
        export.kernel("gemm", begin, begin + ms(10), launch=(begin - us(20), begin - us(10)))
        export.kernel(NCCL, begin + ms(10), begin + ms(15), launch=(begin, begin + us(10)))
        if session or rank == 0:
            export.session(epoch)
        export.write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    made = report(tmp_path / "run", tmp_path / "out")
    assert made.ended.code == 0
    result = made.result
    for section in ("collectives", "stragglers", "walk"):
        assert result[section]["status"] != "ok"
        assert result[section]["reason"]
    if not session:
        assert result["alignment"]["status"] in {"not_aligned", "not_applicable"}
    epochs = [document["capture"]["utc_start_ns"] for document in made.lanes.values()]
    assert [str(epoch)[:10] if epoch else None for epoch in epochs] == [
        "1700000000",
        "1700000011" if session else None,
    ]
