"""Public problem reports on device work and its launches, and siblings of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.support.command import check_identity, report
from tests.support.export import Export, ms, us

if TYPE_CHECKING:
    from pathlib import Path


def run_one(tmp_path: Path, export: Export) -> dict[str, Any]:
    export.write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", tmp_path / "out")
    assert made.ended.code == 0, made.ended.err
    check_identity(made.lane)
    return made.lane


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
