"""Public problem reports on inputs, each with its siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command import Report, as_process, check_identity, report, snapshot
from tests.support.export import KERNEL, MEMCPY, RUNTIME, SYNC, Export, busy_export, ms, us

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


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
