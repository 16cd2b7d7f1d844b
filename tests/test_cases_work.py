"""Public problem reports on device work and its launches, and siblings of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.command import report
from tests.support.export import Export, ms, us
from tests.support.html_page import Page
from tests.support.one_rank import run_one

if TYPE_CHECKING:
    from pathlib import Path


def test_g01_a_driver_call_inside_its_runtime_call_is_no_second_launch(tmp_path: Path) -> None:
    export = Export()
    for replay in range(5):
        begin = ms(10 * replay)
        correlation = export.api("cudaGraphLaunch_v10000", begin, begin + us(20))
        export.api("cuGraphLaunch", begin + us(2), begin + us(18), correlation=correlation)
        for node in range(10):
            start = begin + us(30 + 50 * node)
            export.kernel("gemm", start, start + us(40), node=node, correlation=correlation)
    launch = run_one(tmp_path, export)["launch"]
    assert (launch["graph_launches"], launch["graph_launch_ns"]) == (5, 5 * us(20))
    assert launch["kernels_in_graphs"] == 50


@pytest.mark.parametrize("lost", [0, 2])
def test_g01_replays_without_a_row_are_said(tmp_path: Path, lost: int) -> None:
    """Where graphs are traced as a whole, every launch but one in flight has its row."""
    export = Export()
    for replay in range(6):
        begin = ms(10 * replay)
        correlation = export.api("cudaGraphLaunch_v10000", begin, begin + us(20))
        if not 2 <= replay < 2 + lost:
            export.graph(begin + us(30), begin + ms(8), correlation=correlation)
        export.api("cuGraphLaunch", begin + us(2), begin + us(18), correlation=correlation)
    # Asked for when the capture stopped.
    export.api("cudaGraphLaunch_v10000", ms(59), ms(59) + us(20))
    warnings = run_one(tmp_path, export)["capture"]["warnings"]
    words = f"{lost} of 6 graph launches left no row of what they ran"
    assert [words in row["text"] for row in warnings] == [True] * bool(lost)


def test_e02_launches_without_kernels_are_not_an_idle_gpu(tmp_path: Path) -> None:
    """Copies alone make a lane, but what the GPU computed was not looked at."""
    for rank in range(2):
        export = Export()
        for step in range(5):
            begin = ms(100 * step + 10)
            export.nvtx(f"step {step}", begin, begin + ms(100))
            export.memcpy(1, begin + ms(2), begin + ms(3), launch=(begin, begin + us(10)))
            if rank == 0:
                export.kernel("gemm", begin + ms(4), begin + ms(90),
                              launch=(begin + us(20), begin + us(30)))  # fmt: skip
            else:
                export.api("cudaLaunchKernel_v7000", begin + us(20), begin + us(30))
        export.write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    made = report(tmp_path / "run", tmp_path / "out")
    blind = made.lanes["0001"]
    for name in ("kernels", "overlap", "collectives"):
        assert blind[name]["status"] == "not_recorded"
        assert "5 launches were recorded but no kernel" in blind[name]["reason"]
    assert blind["memory"]["items"][0]["count"] == 4
    assert {row["status"] for row in blind["findings"]} == {"unavailable"}
    index = Page(made.pages["index.html"]).text
    assert "rank1.sqlite: no kernels are in this capture" in index
    # 86 ms of kernel and 1 ms of copy in each 100 ms of the only rank that can be told of.
    assert "The GPU idles for 13.0" in index
    assert "no kernels" not in Page(made.pages["rank-0000.html"]).text.lower()


def test_e02_a_run_without_any_kernel_has_no_verdict(tmp_path: Path) -> None:
    export = Export()
    for copy in range(5):
        begin = ms(100 * copy)
        export.memcpy(1, begin + us(20), begin + ms(3), launch=(begin, begin + us(10)))
        export.api("cudaLaunchKernel_v7000", begin + us(30), begin + us(40))
    export.write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", tmp_path / "out")
    index = Page(made.pages["index.html"]).text
    assert "No kernels are in this capture" in index
    assert "GPU idles" not in index


def test_e04_a_program_that_only_copies_launched_nothing(tmp_path: Path) -> None:
    export = Export()
    export.memcpy(1, us(20), ms(3), launch=(0, us(10)))
    document = run_one(tmp_path, export)
    assert (document["kernels"]["status"], document["kernels"]["top"]) == ("ok", [])
    assert document["overlap"]["status"] == "not_applicable"


def collective_export(kernel: str) -> Export:
    export = Export()
    export.nvtx("NCCL", 0, None, kind=75, domain=1)
    for index in range(20):
        begin = ms(index)
        export.nvtx("ncclAllReduce", begin, begin + us(20), domain=1, registered=True)
        export.kernel(kernel, begin + us(50), begin + us(500),
                      launch=(begin + us(5), begin + us(10)))  # fmt: skip
    return export


def test_m04_calls_of_nccl_without_a_kernel_known_as_one_are_said(tmp_path: Path) -> None:
    document = run_one(tmp_path, collective_export("some_vendors_collective"))
    overlap = document["overlap"]
    assert (overlap["status"], overlap["overlap_frac"]) == ("withheld", None)
    assert "20 NCCL calls" in overlap["reason"]
    (warning,) = document["capture"]["warnings"]
    assert "no kernel is known as communication" in warning["text"]


def test_m04_calls_of_nccl_with_their_kernels_need_no_warning(tmp_path: Path) -> None:
    name = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(x)"
    document = run_one(tmp_path, collective_export(name))
    assert (document["overlap"]["status"], document["capture"]["warnings"]) == ("ok", [])


@pytest.mark.parametrize(("ranks", "said"), [("8", True), ("1", False)])
def test_m04_a_rank_of_many_without_communication_is_said(
    tmp_path: Path, ranks: str, said: bool
) -> None:
    export = Export()
    export.kernel("gemm", us(20), ms(40), launch=(0, us(5)))
    export.env(RANK="0", WORLD_SIZE=ranks)
    document = run_one(tmp_path, export)
    warnings = [row["text"] for row in document["capture"]["warnings"]]
    assert ["the job has 8 ranks" in text for text in warnings] == [True] * said
    assert document["overlap"]["status"] == "not_applicable"


def test_t01_what_was_not_aligned_was_not_looked_at_for_drift(tmp_path: Path) -> None:
    for rank in range(2):
        export = Export()
        export.kernel("gemm", us(20), ms(40), launch=(0, us(5)))
        if rank == 0:
            export.session(1_700_000_000_000_000_000)
        export.write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    made = report(tmp_path / "run", tmp_path / "out")
    assert made.result["alignment"]["status"] == "not_aligned"
    index = Page(made.pages["index.html"]).text
    assert "not looked for" in index
    assert "none seen" not in index
