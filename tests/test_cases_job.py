"""Cases from the field about several ranks: clocks that differ, and the shortest all-reduce."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.command import Report, report
from tests.support.export import Export, ms, us

NCCL_KERNEL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def stepping(rank: int, utc: int | None, begin: int) -> Export:
    export = Export()
    export.env(RANK=str(rank), WORLD_SIZE="2")
    export.system("Hostname", f"host{rank}")
    if utc is not None:
        export.session(utc)
    export.nvtx("step 1", begin, begin + ms(10))
    export.nvtx("step 2", begin + ms(10), begin + ms(20))
    for step in (0, 1):
        at = begin + ms(10 * step)
        export.kernel("gemm", at, at + ms(9), launch=(at, at + us(5)))
    return export


def two_files(tmp_path: Path, second: int | None) -> Report:
    first = 1_700_000_000_000_000_000
    stepping(0, first, ms(12_000)).write_sqlite(tmp_path / "run" / "rank0.sqlite")
    stepping(1, second, us(441_600)).write_sqlite(tmp_path / "run" / "rank1.sqlite")
    return report(tmp_path / "run", tmp_path / "out")


def test_t01_files_are_rebased_by_their_session_start(tmp_path: Path) -> None:
    made = two_files(tmp_path, 1_700_000_011_560_000_000)
    found = made.result["alignment"]
    assert found["status"] == "session_start"
    offsets = {row["file"]: row["offset_ns"] for row in found["offsets"]}
    assert offsets == {"rank0.sqlite": 0, "rank1.sqlite": 11_560_000_000}
    begin = [
        made.lanes[label]["steps"]["items"][0]["start_ns"] + offsets[f"rank{rank}.sqlite"]
        for rank, label in enumerate(("0000", "0001"))
    ]
    assert begin[1] - begin[0] == us(1_600)


def test_t01_without_a_session_start_nothing_is_compared(tmp_path: Path) -> None:
    found = two_files(tmp_path, None).result
    assert found["alignment"]["status"] == "not_aligned"
    assert {row["offset_ns"] for row in found["alignment"]["offsets"]} == {None}
    assert found["walk"]["status"] == found["stragglers"]["status"] == "withheld"


@pytest.fixture(scope="module")
def m08(tmp_path_factory: pytest.TempPathFactory) -> Report:
    folder = tmp_path_factory.mktemp("m08")
    for rank in range(4):
        export = Export()
        export.env(RANK=str(rank), WORLD_SIZE="4")
        export.system("Hostname", "node0")
        export.session(1_700_000_000_000_000_000)
        for step in range(11):
            at = ms(100 * step)
            export.nvtx(f"step {step}", at, at + ms(100))
            arrives = at + ms(90 if rank == 2 else 60)
            export.kernel("gemm", at, arrives, launch=(at + us(1), at + us(5)))
            launch = (at + us(10), at + us(15))
            export.kernel(NCCL_KERNEL, arrives, at + ms(100), stream=20, launch=launch)
        export.write_sqlite(folder / "run" / f"rank{rank}.sqlite")
    return report(folder / "run", folder / "out")


def test_m08_the_rank_with_the_shortest_all_reduce_is_late(m08: Report) -> None:
    (late,) = m08.result["stragglers"]["items"]
    assert (late["rank"], late["verdict"], late["cause"]) == (2, "straggler", "slow compute")
    assert late["gain_bound_ns_per_step"] == pytest.approx(ms(30), rel=0.05)


def test_m08_the_others_wait_and_transfer_little(m08: Report) -> None:
    for label in ("0000", "0001", "0003"):
        document = m08.lanes[label]
        (row,) = document["collectives"]["items"]
        assert row["wait_ns"] == row["count"] * ms(30)
        assert row["transfer_ns"] == row["count"] * ms(10)
        exposed = document["causes"]["exposed_comm"]
        assert exposed["wait_gated"] + exposed["wait_host_late"] > 2 * exposed["transfer_gated"]
    row = m08.lanes["0002"]["collectives"]["items"][0]
    assert (row["wait_ns"], row["transfer_ns"]) == (0, row["count"] * ms(10))


def test_m08_no_advice_on_the_network_outweighs_the_late_rank(m08: Report) -> None:
    cards = [f for f in m08.result["findings"] if f["status"] == "opportunity"]
    assert cards[0]["id"] == "straggler"
    for card in cards:
        if card["category"] == "exposed_communication":
            assert card["bound_ns_per_step"] <= ms(10)
    assert "Rank 2" in m08.pages["index.html"]
