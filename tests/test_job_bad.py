"""Input that forbids claims across ranks: each case abstains, says why, and spares the lanes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nsysflow.render import render_index
from tests.support.export import us
from tests.support.job_run import Job, Planted, job_of
from tests.support.schemas import check

STEPS = 9


def work(rank: int, step: int) -> int:
    return us(600 + 200 * (rank == 1) + 13 * (step * step % 5))


def run_of(ranks: int = 3, **planted: Any) -> Planted:
    base: dict[str, Any] = {"steps": STEPS, "work": work, "payload": True}
    return Planted(ranks, **(base | planted))


def withheld(job: Job, *words: str) -> None:
    """Nobody is named late, nothing is walked or split; the reason stands on the page."""
    check(job.result, "result-1")
    page = render_index(job.result)
    for name in ("stragglers", "walk"):
        section = job.result[name]
        assert section["status"] == "withheld"
        assert section["items"] == []
        for word in words:
            assert word in section["reason"]
            assert word in page
    for document in job.lanes.values():
        check(document, "rank-1")
        parts = document["causes"]["exposed_comm"]
        split = [ns for name, ns in parts.items() if not name.startswith("unsplit")]
        assert sum(split) == 0
        assert sum(parts.values()) == document["buckets"]["exposed_comm"] > 0


def test_missing_ranks(tmp_path: Path) -> None:
    folder = run_of(4).write(tmp_path / "run")
    (folder / "rank3.sqlite").unlink()
    withheld(job_of(folder, tmp_path), "1 of 4 ranks is not in this report")


def test_other_step_numbers(tmp_path: Path) -> None:
    # No session of a job numbers its steps differently on one rank: these are other steps.
    run = run_of(first_number=lambda rank: 500 if rank == 1 else 0)
    withheld(job_of(run.write(tmp_path / "run"), tmp_path), "no step number in common")


def test_captures_that_overlap_in_part(tmp_path: Path) -> None:
    spans = ((0, 6), (2, 9), (3, 8))
    run = run_of(seen=lambda rank, step: spans[rank][0] <= step < spans[rank][1])
    job = job_of(run.write(tmp_path / "run"), tmp_path)
    check(job.result, "result-1")
    assert job.result["alignment"]["status"] == "aligned"
    offsets = [row["offset_ns"] for row in job.result["alignment"]["offsets"]]
    assert offsets == [1_000_000_007 * rank for rank in range(3)]
    # The first window of a capture has no beginning that was seen.
    assert set(job.result["walk"]["steps"]) <= {3, 4, 5}
    assert job.result["walk"]["steps"]
    items = job.result["walk"]["items"]
    assert sum(item["ns"] for item in items) == job.result["walk"]["step_ns"]
    arrived = run.arrivals()
    for rank, document in ((k, job.lanes[f"{k:04d}"]) for k in range(3)):
        kept = [i["number"] for i in document["steps"]["items"] if i["kept"]]
        shared = [n for n in kept if all(low <= n < high for low, high in spans)]
        wait = sum(max(arrived[n]) - arrived[n][rank] for n in shared)
        parts = document["causes"]["exposed_comm"]
        assert parts["wait_gated"] + parts["wait_host_late"] == wait
        unsplit = parts["unsplit_gated"] + parts["unsplit_host_late"]
        assert (unsplit > 0) == (len(shared) < len(kept))


def test_captures_with_no_step_in_common(tmp_path: Path) -> None:
    run = run_of(2, seen=lambda rank, step: (step < 5) == (rank == 0))
    withheld(job_of(run.write(tmp_path / "run"), tmp_path), "no step number in common")


def test_captures_that_overlap_by_twos(tmp_path: Path) -> None:
    spans = ((0, 5), (3, 7), (6, 9))
    run = run_of(seen=lambda rank, step: spans[rank][0] <= step < spans[rank][1])
    job = job_of(run.write(tmp_path / "run"), tmp_path)
    withheld(job, "no step number in common: 0000 has steps 0 to 4, 0002 6 to 8")


@pytest.mark.parametrize("ranks", [2, 3])
def test_a_communicator_on_one_rank_only(tmp_path: Path, ranks: int) -> None:
    absent = [(rank, step) for rank in range(1, ranks) for step in range(STEPS)]
    job = job_of(run_of(ranks, skip=absent).write(tmp_path / "run"), tmp_path)
    check(job.result, "result-1")
    assert job.result["walk"]["status"] == job.result["stragglers"]["status"] == "withheld"
    assert "matched 0 %" in job.result["walk"]["reason"]
    assert job.result["collectives"]["groups"] == []


def test_equal_timestamps(tmp_path: Path) -> None:
    run = run_of(work=lambda _rank, _step: us(600), clock=lambda _rank: 0)
    job = job_of(run.write(tmp_path / "run"), tmp_path)
    check(job.result, "result-1")
    assert job.result["stragglers"]["items"] == []
    (group,) = job.result["collectives"]["groups"]
    assert {row["frac"] for row in group["last_share"]} == {0}
    assert {row["ns"] for row in group["median_late"]} == {0}
    # Nobody is waited for, so the walk stays on one rank.
    assert len({item["label"] for item in job.result["walk"]["items"]}) == 1


def test_several_jobs_in_one_folder(tmp_path: Path) -> None:
    for name in ("one", "two"):
        run_of(2).write(tmp_path / "run" / name)
    job = job_of(tmp_path / "run", tmp_path)
    check(job.result, "result-1")
    assert len(job.lanes) == 4
    assert job.result["run"]["several_jobs"]
    for name in ("alignment", "collectives", "stragglers", "walk", "pipeline"):
        assert job.result[name]["status"] == "withheld"
        assert job.result["run"]["several_jobs"] in job.result[name]["reason"]
    assert "several jobs" in render_index(job.result)
