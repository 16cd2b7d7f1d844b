"""Why a rank is late: since the collective before, with clocks and links where sampled."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.export import Export, us
from tests.support.job_run import ALL_REDUCE, NCCL, UTC, Job, job_of
from tests.support.schemas import check

STEPS, RANKS, STEP_NS = 8, 4, us(3_000)
TRANSFER = us(100)
NAMES = {
    7: "GPC Clock Frequency [MHz]",
    8: "NVLink RX Responses User Data [Throughput %]",
    9: "PCIe TX Throughput [Throughput %]",
    10: "SMs Active [Throughput %]",
}
GPU = 3


@dataclass(frozen=True)
class Sampled:
    """Counters: ``mhz`` by rank; percent of a link during collectives and without."""

    mhz: tuple[int, ...] = (1_800, 1_800, 1_400, 1_800)
    nvlink: tuple[int, int] = (40, 2)
    pcie: tuple[int, int] = (5, 5)


def arrivals(rank: int) -> tuple[int, int, int]:
    """When a rank comes to the first collective, begins to compute again, comes to the second.

    Rank 2 computes 300 us longer before the first. Between the two its host idles for 500 us, but
    rank 3 computes 600 us longer there: rank 2 makes nobody wait a second time.
    """
    first = us(500) + (us(300) if rank == 2 else us(rank))
    ends = us(800) + TRANSFER
    again = ends + (us(500) if rank == 2 else us(5))
    return first, again, ends + us(405) + us({2: 495, 3: 600}.get(rank, rank))


def export_of(rank: int, sampled: Sampled | None, hosts: int, link: int) -> Export:
    export = Export()
    export.env(RANK=str(rank), WORLD_SIZE=str(RANKS))
    export.system("Hostname", f"node{rank * hosts // RANKS}")
    export.session(UTC)
    export.nvtx("NCCL", 0, None, kind=75, domain=NCCL)
    export.gpu(2, "NVIDIA H100 80GB HBM3", "aaaa", bus="0000:18:00.0", cuda=1, pid=999)
    export.gpu(GPU, "NVIDIA H100 80GB HBM3", f"bb{rank}", bus="0000:19:00.0", cuda=0)
    if link:
        export.row("TARGET_INFO_NIC_INFO", GUID=1, stateName="Local", nicId=0, name="mlx5_0",
                   deviceId=1, vendorId=2, linkLayer=link)  # fmt: skip
    busy: list[tuple[int, int]] = []
    first, again, second = arrivals(rank)
    ends = us(800) + TRANSFER, us(800) + TRANSFER + us(1_005) + TRANSFER
    for step in range(STEPS + 1):
        at = us(1_000) + step * STEP_NS
        export.nvtx(f"step {step}", at, at + us(2_900) if step < STEPS else None)
        if step == STEPS:
            break
        export.kernel("gemm_a", at + us(20), at + first, launch=(at + us(2), at + us(4)))
        _collective(export, at + us(5), (at + first, at + ends[0]))
        host = at + again - us(6)
        export.kernel("gemm_b", at + again, at + second, launch=(host, host + us(2)))
        _collective(export, host + us(3), (at + second, at + ends[1]))
        busy += [(at + first, at + ends[0]), (at + second, at + ends[1])]
        tail = at + ends[1]
        export.kernel("adam", tail, tail + us(800), launch=(tail - us(20), tail - us(18)))
    if sampled:
        _samples(export, rank, sampled, busy)
    return export


def _collective(export: Export, asked: int, span: tuple[int, int]) -> None:
    text = json.dumps({"NCCL communicator ID": 0xABC, "Message size [bytes]": 1 << 20})
    export.nvtx("ncclAllReduce", asked, asked + us(2), domain=NCCL, registered=True, jsonText=text)
    launch = (asked + us(0.5), asked + us(1.5))
    export.kernel(ALL_REDUCE, *span, stream=20, launch=launch)


def _samples(export: Export, rank: int, sampled: Sampled, busy: list[tuple[int, int]]) -> None:
    for gpu in (2, GPU):
        kind = (5 << 32) | gpu
        for number, name in NAMES.items():
            export.row("TARGET_INFO_GPU_METRICS", typeId=kind, sourceId=1, typeName="GPU",
                       metricId=number, metricName=name)  # fmt: skip
        for at in range(us(1_010), us(1_000) + STEPS * STEP_NS, us(50)):
            during = any(begin <= at < end for begin, end in busy)
            # The GPU of another process shows all that this one's must not.
            mine = gpu == GPU
            values = {
                7: sampled.mhz[rank] if mine else 300,
                8: sampled.nvlink[0 if during else 1] if mine else 99 - during,
                9: sampled.pcie[0 if during else 1] if mine else 100 * during,
                10: 50,
            }
            for number, value in values.items():
                export.row("GPU_METRICS", rawTimestamp=at, timestamp=at, typeId=kind,
                           metricId=number, value=value)  # fmt: skip


def made(folder: Path, sampled: Sampled | None = None, hosts: int = 1, link: int = 0) -> Job:
    for rank in range(RANKS):
        export_of(rank, sampled, hosts, link).write_sqlite(folder / "run" / f"rank{rank}.sqlite")
    return job_of(folder / "run", folder)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return made(tmp_path_factory.mktemp("plain"))


@pytest.fixture(scope="module")
def counted(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return made(tmp_path_factory.mktemp("counted"), Sampled(), link=2)


def late_rank(job: Job) -> dict[str, Any]:
    (found,) = [i for i in job.result["stragglers"]["items"] if i["verdict"] == "straggler"]
    return dict(found)


def group_of(job: Job) -> dict[str, Any]:
    (found,) = job.result["collectives"]["groups"]
    return dict(found)


def test_only_the_time_since_the_collective_before_counts(plain: Job) -> None:
    found = late_rank(plain)
    assert (found["rank"], found["cause"]) == (2, "slow compute")
    # Over whole steps its host's 500 us are the larger excess; nobody waited for them.
    assert (
        "compute takes 299" in found["evidence"][1] or "compute takes 298" in found["evidence"][1]
    )
    assert found["evidence"][1].endswith(
        "between the collective before and the one in which the rank comes last"
    )
    assert any("gemm_a" in text for text in found["evidence"])
    assert not any("gemm_b" in text for text in found["evidence"])


def test_clocks_and_links_that_were_not_recorded_are_said_to_be_so(plain: Job) -> None:
    check(plain.result, "result-1")
    assert any("GPU clocks were not recorded" in text for text in late_rank(plain)["evidence"])
    assert group_of(plain)["link"] is None
    assert "no NVLink or PCIe counters were recorded" in group_of(plain)["link_evidence"]


def test_a_lower_clock_is_named(counted: Job) -> None:
    check(counted.result, "result-1")
    (text,) = [t for t in late_rank(counted)["evidence"] if "SM clock" in t]
    assert "1400 MHz" in text
    assert "1800 MHz" in text
    assert "power and temperature" in text


def test_the_link_whose_counter_rises(counted: Job) -> None:
    assert group_of(counted)["link"] == "nvlink"
    assert group_of(counted)["link_evidence"] == "NVLink counters 40.0 % during it, 2.0 % else"


def test_counters_that_do_not_rise_name_no_link_and_an_equal_clock_no_cause(tmp_path: Path) -> None:
    still = Sampled(mhz=(1_800,) * 4, nvlink=(100, 100), pcie=(30, 4))
    job = made(tmp_path, still)
    # An inactive NVLink may read as full.
    assert group_of(job)["link"] == "pcie"
    (text,) = [t for t in late_rank(job)["evidence"] if "SM clock" in t]
    assert text.endswith("the clock is not the reason")


@pytest.mark.parametrize(("link", "name"), [(2, "infiniband"), (1, "ethernet"), (0, None)])
def test_between_hosts_the_adapters_tell(tmp_path: Path, link: int, name: str | None) -> None:
    found = group_of(made(tmp_path, hosts=2, link=link))
    assert found["link"] == name
    assert ("adapters were not recorded" in found["link_evidence"]) == (name is None)
