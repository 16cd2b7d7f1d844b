"""Public problem reports that must come out right (CASES), each with its siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command import Report, as_process, check_identity, report, snapshot
from tests.support.export import KERNEL, MEMCPY, RUNTIME, SYNC, Export, ms, us

if TYPE_CHECKING:
    from pathlib import Path

NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


def busy_export(**options: Any) -> Export:
    """A plain good rank: two kernels of 40 ms, 20 ms apart."""
    export = Export(**options)
    export.kernel("gemm", ms(0), ms(40), launch=(0, us(5)))
    export.kernel("gemm", ms(60), ms(100), launch=(ms(50), ms(50) + us(5)))
    return export


def script(path: Path, body: str) -> Path:
    """Make an executable that stands for nsys."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n")
    path.chmod(0o755)
    return path


def inputs(made: Report) -> dict[str, dict[str, Any]]:
    return {item["file"]: item for item in made.result["run"]["inputs"]}


def one_line_about(made: Report, file: str) -> str:
    lines = [line for line in made.ended.failures if file in line]
    assert len(lines) == 1, made.ended.err
    return lines[0]


# E01: one rank's capture never became a report


@pytest.mark.parametrize("content", [bytes(1024), b"", b"\x7fELF" * 9])
def test_e01_a_capture_without_report(tmp_path: Path, out: Path, content: bytes) -> None:
    run = tmp_path / "run"
    for rank in (0, 2):
        busy_export().write_sqlite(run / f"rank{rank}.sqlite")
    (run / "rank1.qdstrm").write_bytes(content)
    made = report(run, out)
    assert made.ended.code == 3
    assert {document["lane"]["rank"] for document in made.lanes.values()} == {0, 2}
    failed = inputs(made)["rank1.qdstrm"]
    assert failed["status"] == "failed"
    assert failed["stage"] in {"find", "open"}
    assert "import" in failed["message"]
    assert failed["hint"]
    one_line_about(made, "rank1.qdstrm")
    assert "rank1.qdstrm" in made.pages["index.html"]


def test_e01_nsys_fails_on_one_report(tmp_path: Path, out: Path) -> None:
    run = tmp_path / "run"
    busy_export().write_sqlite(run / "rank0.sqlite")
    (run / "rank1.nsys-rep").write_bytes(bytes(1024))
    text = "Throw location unknown: Wrong event order has been detected when adding events"
    nsys = script(tmp_path / "bin" / "nsys", f'echo "{text}" >&2\nexit 1')
    made = report(run, out, "--nsys", nsys)
    assert made.ended.code == 3
    failed = inputs(made)["rank1.nsys-rep"]
    assert (failed["status"], failed["stage"]) == ("failed", "export")
    assert "Wrong event order" in failed["message"]
    assert list(made.lanes) == ["0000"]


# E02: a capture without GPU rows


def no_gpu_export(**options: Any) -> Export:
    export = Export(**options)
    for index in range(200):
        export.api("cudaLaunchKernel_v7000", us(10 * index), us(10 * index + 5))
    for step in range(4):
        export.nvtx(f"step {step}", us(500 * step), us(500 * step + 500))
    return export


@pytest.mark.parametrize("lazy", [True, False])
def test_e02_no_gpu_work(tmp_path: Path, out: Path, lazy: bool) -> None:
    run = tmp_path / "run"
    busy_export().write_sqlite(run / "rank0.sqlite")
    no_gpu_export(lazy=lazy).write_sqlite(run / "rank1.sqlite")
    made = report(run, out)
    assert made.ended.code == 3
    assert inputs(made)["rank1.sqlite"]["status"] == "no_gpu_work"
    line = one_line_about(made, "rank1.sqlite")
    assert "no GPU work" in line
    assert "200" in line
    assert [rank["file"] for rank in made.result["ranks"]] == ["rank0.sqlite"]


@pytest.mark.parametrize("lazy", [True, False])
def test_e02_alone_there_is_no_report(tmp_path: Path, out: Path, lazy: bool) -> None:
    run = tmp_path / "run"
    no_gpu_export(lazy=lazy).write_sqlite(run / "rank1.sqlite")
    made = report(run, out)
    assert made.ended.code == 4
    assert not list(out.glob("*.html"))


# E03: nsys is missing or too old


def test_e03_without_nsys(tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "run"
    busy_export().write_sqlite(run / "rank0.sqlite")
    (run / "rank1.nsys-rep").write_bytes(b"NVIDIA report")
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    made = report(run, out)
    assert made.ended.code == 3
    line = one_line_about(made, "rank1.nsys-rep")
    assert "nsys export" in line
    assert list(made.lanes) == ["0000"]


def test_e03_only_a_report_and_no_nsys(
    tmp_path: Path, out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "rank1.nsys-rep").write_bytes(b"NVIDIA report")
    monkeypatch.setenv("PATH", str(tmp_path))
    made = report(run, out)
    assert made.ended.code == 4
    assert "nsys export" in one_line_about(made, "rank1.nsys-rep")


def test_e03_an_old_nsys(tmp_path: Path, out: Path) -> None:
    run = tmp_path / "run"
    busy_export().write_sqlite(run / "rank0.sqlite")
    (run / "rank1.nsys-rep").write_bytes(b"NVIDIA report")
    body = """case "$*" in
*--version*) echo "NVIDIA Nsight Systems version 2023.1.2.43-32377213v0" ;;
*) echo "The report file was created by a newer version" >&2; exit 1 ;;
esac"""
    made = report(run, out, "--nsys", script(tmp_path / "bin" / "nsys", body))
    assert made.ended.code == 3
    line = one_line_about(made, "rank1.nsys-rep")
    assert "2023.1" in line
    assert "newer" in line


def test_e03_success_without_output_is_a_failure(tmp_path: Path, out: Path) -> None:
    run = tmp_path / "run"
    busy_export().write_sqlite(run / "rank0.sqlite")
    (run / "rank1.nsys-rep").write_bytes(b"NVIDIA report")
    made = report(run, out, "--nsys", script(tmp_path / "bin" / "nsys", "exit 0"))
    assert made.ended.code == 3
    assert inputs(made)["rank1.nsys-rep"]["status"] == "failed"


# E04: tables exist only when they have rows


def rich_export(**options: Any) -> Export:
    """One lane with a row of every kind."""
    export = busy_export(**options)
    export.memcpy(1, ms(41), ms(42), 1 << 20, launch=(ms(41), ms(41) + us(9)))
    export.memset(ms(43), ms(44), 99, launch=(ms(43), ms(43) + us(3)))
    export.sync(3, ms(50), ms(55), launch=(ms(50), ms(55)))
    export.nvtx("forward", ms(0), ms(60))
    export.os_call("poll", ms(45), ms(49))
    export.gpu(0, "NVIDIA H100 80GB HBM3", "GPU-aaaa")
    export.session(1_700_000_000_000_000_000)
    export.process("python")
    export.thread("python")
    export.diagnostic("a warning")
    return export


OPTIONAL = (
    MEMCPY,
    "CUPTI_ACTIVITY_KIND_MEMSET",
    SYNC,
    "NVTX_EVENTS",
    "OSRT_API",
    "TARGET_INFO_GPU",
    "TARGET_INFO_CUDA_DEVICE",
    "TARGET_INFO_SESSION_START_TIME",
    "PROCESSES",
    "ThreadNames",
    "DIAGNOSTIC_EVENT",
    RUNTIME,
    "StringIds",
    "META_DATA_EXPORT",
)
RECORDED = {"NVTX_EVENTS": "nvtx", "OSRT_API": "os_calls"}


@pytest.mark.parametrize("table", OPTIONAL)
def test_e04_each_table_may_be_absent(tmp_path: Path, out: Path, table: str) -> None:
    rich_export(drop={table}).write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", out)
    assert made.ended.code == 0, made.ended.err
    document = made.lane
    check_identity(document)
    assert document["capture"]["tables"].get(table, "absent") == "absent"
    buckets = document["capture"]["span"]["buckets"]
    assert buckets["compute_only"] == ms(80)
    assert buckets["exposed_mem"] == {
        MEMCPY: ms(1),
        "CUPTI_ACTIVITY_KIND_MEMSET": ms(1),
    }.get(table, ms(2))
    for name, section in RECORDED.items():
        assert document[section]["status"] == ("not_recorded" if name == table else "ok")
    if table in RECORDED:
        assert document[RECORDED[table]]["reason"]
    # CUDA was traced, so that no copies are listed is an answer.
    assert document["memory"]["status"] == "ok"


def test_e04_empty_tables_are_an_answer(tmp_path: Path, out: Path) -> None:
    busy_export(lazy=False).write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", out)
    assert made.ended.code == 0, made.ended.err
    document = made.lane
    check_identity(document)
    assert document["capture"]["tables"]["NVTX_EVENTS"] == "empty"
    for section in ("nvtx", "os_calls", "memory"):
        assert (document[section]["status"], document[section]["total"]) == ("ok", 0)


def test_e04_lazy_and_not_lazy_say_the_same(tmp_path: Path) -> None:
    rich_export().write_sqlite(tmp_path / "a" / "rank0.sqlite")
    rich_export(lazy=False).write_sqlite(tmp_path / "b" / "rank0.sqlite")
    first = report(tmp_path / "a", tmp_path / "out_a").lane
    second = report(tmp_path / "b", tmp_path / "out_b").lane
    for section in ("buckets", "causes", "kernels", "memory", "nvtx", "api", "gaps", "syncs"):
        assert first[section] == second[section], section


# I01, I02: who is which GPU


@pytest.mark.parametrize("names", [("rank0", "rank1"), ("a", "b")])
def test_i01_every_rank_says_device_0(tmp_path: Path, out: Path, names: tuple[str, str]) -> None:
    for name, uuid, bus in zip(names, ("GPU-aaaa", "GPU-bbbb"), ("1b", "43"), strict=True):
        export = busy_export()
        export.gpu(0, "NVIDIA H100 80GB HBM3", uuid, f"0000:{bus}:00.0")
        export.system("Hostname", "node17")
        export.write_sqlite(tmp_path / "run" / f"{name}.sqlite")
    made = report(tmp_path / "run", out)
    assert made.ended.code == 0
    assert len(made.lanes) == 2
    for document in made.lanes.values():
        assert document["lane"]["device"] == 0
        buckets = document["buckets"]
        assert (buckets["window_ns"], buckets["idle"]) == (ms(100), ms(20))
    ranks = [document["lane"]["rank"] for document in made.lanes.values()]
    assert ranks == ([0, 1] if names[0] == "rank0" else [None, None])
    uuids = {document["lane"]["gpu"]["uuid"] for document in made.lanes.values()}
    assert uuids == {"GPU-aaaa", "GPU-bbbb"}


def test_i02_stream_numbers_repeat_across_gpus(tmp_path: Path, out: Path) -> None:
    export = Export()
    for device in range(4):
        stream = 17 if device else 7
        export.kernel("gemm", ms(0), ms(43), device=device, stream=stream)
        export.kernel("gemm", ms(57), ms(100), device=device, stream=stream)
    export.write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", out)
    assert sorted(made.lanes) == [f"0000-gpu{device}" for device in range(4)]
    for document in made.lanes.values():
        (stream,) = document["streams"]["items"]
        assert stream["busy_ns"] == ms(86)
        assert stream["busy_frac"] == 0.86
        assert stream["stream"] == (17 if document["lane"]["device"] else 7)


# I03: what rank is this file?


def test_i03_the_rank_table(tmp_path: Path, out: Path) -> None:
    run = tmp_path / "run"
    for name in ("trace.rank10", "trace.rank2", "node1_rank2", "worker_process_4242.5"):
        busy_export().write_sqlite(run / f"{name}.sqlite")
    several = Export()
    for device in range(4):
        several.kernel("gemm", ms(0), ms(10), device=device, pid=101 + device)
    several.write_sqlite(run / "torchrun.sqlite")
    made = report(run, out)
    assert made.ended.code == 0
    ranks = made.result["ranks"]
    known = [(item["rank"], item["file"]) for item in ranks if item["rank"] is not None]
    assert [rank for rank, _ in known] == [2, 2, 10]
    assert known[2] == (10, "trace.rank10.sqlite")
    sources = {item["file"]: item["rank_source"] for item in ranks}
    assert sources["trace.rank10.sqlite"] == "filename"
    assert sources["worker_process_4242.5.sqlite"] == "unknown"
    assert sources["torchrun.sqlite"] == "process"
    processes = [item for item in ranks if item["file"] == "torchrun.sqlite"]
    assert [(item["rank"], item["pid"]) for item in processes] == [
        (None, 101 + device) for device in range(4)
    ]
    (conflict,) = made.result["run"]["conflicts"]
    assert conflict["rank"] == 2
    assert len(conflict["labels"]) == 2
    assert made.result["run"]["several_jobs"]
    assert len({item["label"].lower() for item in ranks}) == 8


def test_i03_what_is_believed_first(tmp_path: Path, out: Path) -> None:
    export = busy_export()
    export.env(RANK="3", WORLD_SIZE="8")
    export.write_sqlite(tmp_path / "a" / "rank5.sqlite")
    lane = report(tmp_path / "a", out / "a").lane["lane"]
    assert (lane["rank"], lane["rank_source"]) == (3, "env")
    export.mpi_rank(4)
    export.write_sqlite(tmp_path / "b" / "rank5.sqlite")
    lane = report(tmp_path / "b", out / "b").lane["lane"]
    assert (lane["rank"], lane["rank_source"]) == (4, "mpi")


def test_i03_a_launchers_environment_is_nobodys_rank(tmp_path: Path, out: Path) -> None:
    """One RANK in the environment of a file with two processes names neither of them."""
    export = Export()
    export.env(RANK="0", WORLD_SIZE="2")
    for device in range(2):
        export.kernel("gemm", ms(0), ms(10), device=device, pid=101 + device)
    export.write_sqlite(tmp_path / "run" / "job.sqlite")
    ranks = report(tmp_path / "run", out).result["ranks"]
    assert [item["rank"] for item in ranks] == [None, None]


# M01, M03, M04: level 1


def run_one(tmp_path: Path, export: Export) -> dict[str, Any]:
    export.write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", tmp_path / "out")
    assert made.ended.code == 0, made.ended.err
    check_identity(made.lane)
    return made.lane


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
    overlap = run_one(tmp_path, busy_export())["overlap"]
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
    (own,) = [item for path, item in rows.items() if path.endswith("AddmmBackward0")]
    assert (own["count"], own["projected_ns"], own["work_ns"]) == (1, work, work)


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
def test_t01_no_times_across_files(tmp_path: Path, out: Path, session: bool) -> None:
    for rank, (epoch, begin) in enumerate(
        [(1_700_000_000_000_000_000, ms(12_000)), (1_700_000_011_560_000_000, ms(441.6))]
    ):
        export = Export()
        export.kernel("gemm", begin, begin + ms(10), launch=(begin - us(20), begin - us(10)))
        export.kernel(NCCL, begin + ms(10), begin + ms(15), launch=(begin, begin + us(10)))
        if session or rank == 0:
            export.session(epoch)
        export.write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    made = report(tmp_path / "run", out)
    assert made.ended.code == 0
    result = made.result
    for section in ("collectives", "stragglers", "walk"):
        assert result[section]["status"] != "ok"
        assert result[section]["reason"]
    if not session:
        assert result["alignment"]["status"] == "not_aligned"
    epochs = [document["capture"]["utc_start_ns"] for document in made.lanes.values()]
    assert [str(epoch)[:10] if epoch else None for epoch in epochs] == [
        "1700000000",
        "1700000011" if session else None,
    ]


# Everything, through a process of its own


def test_the_real_command(tmp_path: Path) -> None:
    run = tmp_path / "run"
    rich_export().write_sqlite(run / "rank0.sqlite")
    before = snapshot(run)
    ended = as_process("report", run, "-o", tmp_path / "out", "--jobs", 1)
    assert ended.code == 0, ended.err
    assert str(tmp_path / "out" / "index.html") in ended.out
    assert snapshot(run) == before
    ended = as_process("report", tmp_path / "nowhere", "-o", tmp_path / "out2")
    assert ended.code in {2, 4}
    assert len(ended.failures) == 1
    run = tmp_path / "broken"
    run.mkdir()
    (run / "rank0.sqlite").write_bytes(b"SQLite format 3\x00" + bytes(4080))
    ended = as_process("report", run, "-o", tmp_path / "out3", "--jobs", 1)
    assert ended.code == 4
    assert "Traceback" not in ended.err
    assert KERNEL not in ended.out
