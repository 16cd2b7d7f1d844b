"""What a capture lacks is said before any number; lost kernels never read as idle time."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.errors import InputError, disk_error
from nsysflow.findings.base import Lane
from nsysflow.findings.host import _sync_text
from nsysflow.model import OWN
from nsysflow.render import render_rank
from tests.support.command import in_process, report
from tests.support.engine import analysed
from tests.support.export import KERNEL, RUNTIME, Export, busy_export, ms, us
from tests.support.html_page import Page
from tests.support.one_rank import run_one
from tests.support.schemas import check
from tests.support.stores import converted, refused, store_of

if TYPE_CHECKING:
    from pathlib import Path


def shown(page: str) -> str:
    return " ".join(" ".join(Page(page).words).split())


def with_kernels(sound: int, broken: int) -> Export:
    """Kernels of a millisecond, some of which end before they start, and a copy."""
    export = Export()
    for number in range(sound + broken):
        start = ms(2 * number)
        end = start + ms(1) if number < sound else start - us(1)
        export.kernel("gemm", start, end, launch=(start, start + us(5)))
    export.memcpy(1, ms(1), ms(2))
    return export


def test_kernels_without_usable_times_are_no_idle_time(tmp_path: Path) -> None:
    error = refused(with_kernels(0, 40).write_sqlite(tmp_path / "x.sqlite"))
    assert "none of its 40 kernels has usable times" in error.message
    assert isinstance(error, InputError)
    assert not error.no_gpu_work


def test_some_lost_kernels_are_said_everywhere(tmp_path: Path) -> None:
    export = with_kernels(30, 10)
    (document,) = analysed(export, tmp_path).values()
    check(document, "rank-1")
    said = "10 of 40 kernels have no usable times: idle time is too long"
    assert document["capture"]["warnings"][0]["text"] == f"{OWN}{said}"
    page = shown(render_rank(document))
    assert page.index(said) < page.index("All questions asked")
    run = tmp_path / "cli"
    export.write_sqlite(run / "a.sqlite")
    ended = in_process("report", run, "-o", tmp_path / "out", "--quiet")
    assert f"a.sqlite: {said}" in ended.out
    assert said in shown((tmp_path / "out" / "index.html").read_text("utf-8"))


def test_one_lost_kernel_of_many_is_only_counted(tmp_path: Path) -> None:
    assert store_of(with_kernels(200, 1), tmp_path).capture["doubts"] == []


@pytest.mark.parametrize("graph", [False, True], ids=["copies only", "whole graphs"])
def test_without_kernels_nothing_is_claimed(graph: bool, tmp_path: Path) -> None:
    export = Export()
    export.memcpy(1, ms(0), ms(1))
    export.memcpy(1, ms(90), ms(91))
    if graph:
        export.graph(ms(10), ms(80))
    (document,) = analysed(export, tmp_path).values()
    check(document, "rank-1")
    states = {f["status"] for f in document["findings"]}
    page = shown(render_rank(document))
    if graph:
        assert "No kernels are in this capture" not in page
        assert "ok" in states
    else:
        assert states == {"unavailable"}
        assert "No kernels are in this capture: what the GPU computed is not known." in page


@pytest.mark.parametrize("lacks", [{"demangledName"}, {"demangledName", "shortName"}])
def test_a_kernel_without_any_name_is_listed(tmp_path: Path, lacks: set[str]) -> None:
    export = Export(strict=False)
    for number in range(4):
        start = ms(2 * number)
        export.kernel("gemm", start, start + ms(1), short="g", launch=(start, start + us(5)))
    export.rows[KERNEL][3] |= dict.fromkeys(lacks)
    run = tmp_path / "run"
    export.write_sqlite(run / "rank0.sqlite")
    made = report(run, tmp_path / "out")
    assert made.ended.code == 0, made.ended.err
    name = "(unnamed kernel)" if "shortName" in lacks else "g"
    rows = {row["name"]: (row["count"], row["work_ns"]) for row in made.lane["kernels"]["top"]}
    assert rows == {"gemm": (3, ms(3)), name: (1, ms(1))}
    assert made.lane["buckets"]["compute_only"] == ms(4)
    assert ("the names of 1 of 4 kernels are missing" in made.ended.out) == ("shortName" in lacks)


def test_missing_names_leave_communication_untold(tmp_path: Path) -> None:
    export = busy_export()
    assert store_of(export, tmp_path).capture["doubts"] == []
    missing = {"demangledName": 10**6, "shortName": 10**6}
    export.rows[KERNEL] = [row | missing for row in export.rows[KERNEL]]
    (told,) = converted(export.write_sqlite(tmp_path / "y.sqlite")).capture["doubts"]
    assert told.startswith("the names of 2 of 2 kernels are missing")


def test_a_step_range_that_fits_nothing_is_said(tmp_path: Path) -> None:
    run = tmp_path / "run"
    busy_export().write_sqlite(run / "a.sqlite")
    ended = in_process(
        "report", run, "-o", tmp_path / "out", "--quiet", "--step-range", "no such range"
    )
    assert ended.code == 0
    assert "fits --step-range in " in ended.out


def test_a_damaged_schema_costs_its_own_file(tmp_path: Path) -> None:
    run = tmp_path / "run"
    busy_export().write_sqlite(run / "good.sqlite")
    path = busy_export().write_sqlite(run / "bad.sqlite")
    path.write_bytes(path.read_bytes().replace(b"CREATE TABLE", b"CREAT\xb3 TABLE"))
    for command in (("doctor", run), ("report", run, "-o", tmp_path / "out", "--quiet")):
        ended = in_process(*command)
        assert ended.code == 3
        (line,) = [line for line in (ended.out + ended.err).splitlines() if "bad.sqlite" in line]
        assert "the names of its tables are damaged" in line
        assert "fault" not in line


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (errno.ENOSPC, "is full"),
        (errno.EFBIG, "ulimit -f"),
        (errno.EROFS, "read-only"),
        (errno.EACCES, "permission denied"),
    ],
)
def test_a_disk_that_cannot_be_written_is_no_fault(number: int, said: str) -> None:
    found = disk_error(OSError(number, "said by the system", "/out/a/b.json"))
    assert found is not None
    assert said in str(found)
    assert "-o" in str(found)
    assert found.exit_code == 2
    assert disk_error(OSError(errno.ENOENT, "gone")) is None


def statuses(document: dict[str, Any], category: str) -> dict[str, str]:
    return {f["id"]: f["status"] for f in document["findings"] if f["category"] == category}


@pytest.mark.parametrize(
    ("recorded", "steps", "status"),
    [
        ((), False, "unavailable"),
        (("osrt",), False, "unavailable"),
        (("nvtx",), False, "ok"),
        (("nvtx", "osrt"), True, "ok"),
    ],
)
def test_waits_for_data_that_left_no_trace_are_not_said_to_be_none(
    tmp_path: Path, recorded: tuple[str, ...], steps: bool, status: str
) -> None:
    export = Export()
    for k in range(6):
        begin = us(1_000 * k)
        export.kernel("gemm", begin, begin + us(500), launch=(begin - us(20), begin - us(10)))
        if steps:
            export.nvtx(f"step {k}", begin - us(30), begin + us(600))
    if "nvtx" in recorded and not steps:
        export.nvtx("work", us(1), us(2))
    if "osrt" in recorded:
        export.os_call("read", us(1), us(2))
    found = statuses(run_one(tmp_path, export), "data_loading")
    assert found["data_loading"] == status


@pytest.mark.parametrize(("graph_us", "status"), [(50, "ok"), (900, "unavailable")])
def test_what_graphs_may_hide_is_not_said_to_be_none(
    tmp_path: Path, graph_us: int, status: str
) -> None:
    export = Export()
    for k in range(4):
        begin = us(2_000 * k)
        export.kernel("gemm", begin, begin + us(1_000), launch=(begin - us(20), begin - us(10)))
        export.graph(begin + us(1_000), begin + us(1_000 + graph_us))
    document = run_one(tmp_path, export)
    assert statuses(document, "exposed_communication") == {"exposed_comm": status}
    assert statuses(document, "stragglers") == {"waits_for_others": status}
    assert statuses(document, "kernel_efficiency")["non_tensor_compute"] == status


@pytest.mark.parametrize(("numbered", "unit"), [(True, "step"), (False, "capture")])
def test_titles_speak_of_steps_only_where_there_are_some(
    tmp_path: Path, numbered: bool, unit: str
) -> None:
    export = Export()
    for k in range(4):
        begin = us(1_000 * k)
        export.kernel("elementwise_kernel", begin, begin + us(900),
                      launch=(begin - us(20), begin - us(10)))  # fmt: skip
        if numbered:
            export.nvtx(f"step {k}", begin - us(30), begin + us(950))
    titles = [finding["title"] for finding in run_one(tmp_path, export)["findings"]]
    assert f"Much of the {unit} is computed outside tensor kernels" in titles
    assert any("of the step" in title for title in titles) == numbered


def test_incomplete_attribution_says_what_to_record(tmp_path: Path) -> None:
    export = Export()
    for k in range(4):
        export.kernel("gemm", ms(2 * k), ms(2 * k + 1))
    document = run_one(tmp_path, export)
    assert document["attribution"]["verdict"] == "incomplete"
    words = shown(render_rank(document))
    assert (
        "has no cause in this capture. To tell more, capture with --trace=cuda,nvtx,osrt " in words
    )
    assert words.count("--trace=nvtx --pytorch") == 0


@pytest.mark.parametrize(
    ("name", "double"),
    [
        ("ampere_dgemm_64x64_tn", True),
        ("void gemv2T_kernel_val<int, int, double, double, double, double, 128, 16>", True),
        ("ampere_zgemm_64x64_nn", True),
        ("void gemmk1_kernel<int, double2, 256, 5>", True),
        ("volta_sgemm_128x64_nn", False),
        ("cutlass_80_simt_sgemm_64x64_8x5_nn_align1", False),
        ("void gemv2T_kernel_val<int, int, float, float, float, float, 128, 16>", False),
    ],
)
def test_tf32_is_no_advice_for_doubles(tmp_path: Path, name: str, double: bool) -> None:
    export = Export()
    export.kernel(name, 0, ms(10))
    (document,) = analysed(export, tmp_path).values()
    found = next(f for f in document["findings"] if f["id"] == "off_tensor_cores")
    assert found["status"] == "opportunity"
    assert ("double precision" in found["title"]) is double
    assert ("Compute in float32" in found["fix"]) is double
    for part in ("fix", "verify", "experiment"):
        # What would help float32 is said of float32 alone.
        assert not (double and "Allow TF32" in found[part])
        assert not (double and "bf16 or TF32" in found[part])


def test_some_products_of_doubles_are_told_beside_those_of_float32(tmp_path: Path) -> None:
    export = Export()
    export.kernel("volta_sgemm_128x64_nn", 0, ms(10))
    export.kernel("volta_dgemm_64x64_nn", ms(10), ms(12))
    (document,) = analysed(export, tmp_path).values()
    found = next(f for f in document["findings"] if f["id"] == "off_tensor_cores")
    assert found["title"] == "Matrix products run off the tensor cores"
    assert found["evidence"][-1].startswith("2.00 ms in the capture of it in double precision")


def test_a_call_outside_the_kept_steps_is_not_said_to_be_made_in_them(tmp_path: Path) -> None:
    row = {"api": "cudaMemcpyAsync", "bytes": 0, "count": 0, "per_step": 0.0, "copy_kind": None,
           "callsite": None, "nvtx_path": "save", "idle_caused_ns": 20_000}  # fmt: skip
    export = Export()
    export.kernel("gemm", 0, ms(1))
    lane = Lane(run_one(tmp_path, export), alone=True)
    assert _sync_text(lane, row).startswith("`cudaMemcpyAsync`, called outside the kept steps in ")
    assert ", 2 per step in " in _sync_text(lane, row | {"count": 2, "per_step": 2.0})


@pytest.mark.parametrize("calls", [True, False], ids=["apart", "absent"])
def test_without_launches_the_host_is_not_answered_for(calls: bool, tmp_path: Path) -> None:
    """No thread is known to have launched, so nothing found of it is no answer."""
    export = Export(drop=() if calls else {RUNTIME})
    for step in range(6):
        at = ms(10 * step)
        export.nvtx("next_batch", at, at + ms(4))
        export.kernel("gemm", at + ms(5), at + ms(9))
        export.api("cudaLaunchKernel_v7000", at + ms(4), at + ms(4) + us(5))
    (document,) = analysed(export, tmp_path).values()
    check(document, "rank-1")
    assert document["data_loading"]["status"] == ("withheld" if calls else "not_recorded")
    what = "no device work was recorded with the call that asked for it"
    what = what if calls else "no CUDA calls were recorded"
    host = {"host_sync", "data_loading", "launch_bound", "gc", "logging", "host_other_nvtx"}
    queued = {"dependency_stall", "queued_unexplained", "gpu_shared"}
    answers = {found["id"]: found for found in document["findings"]}
    for name in host | queued | {"pauses", "profiler_overhead"}:
        assert answers[name]["status"] == "unavailable", name
        assert answers[name]["title"] == f"{what}, so the host's part cannot be told"
    assert answers["idle_unattributed"]["status"] == "info"
    assert what in shown(render_rank(document))
