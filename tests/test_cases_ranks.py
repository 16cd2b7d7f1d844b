"""Public problem reports on ranks and GPUs, each with its siblings."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.command import report
from tests.support.export import Export, busy_export, ms

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "out"


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
