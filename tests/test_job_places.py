"""Collectives matched by place: captures that begin a step apart and steps without numbers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nsysflow.render import render_index
from tests.support.export import us
from tests.support.job_run import Job, Planted, job_of
from tests.support.schemas import check

STEPS = 12


def even(rank: int, _step: int) -> int:
    """Every step takes as long: nothing but the date tells one from the next."""
    return us(800 + 100 * (rank == 1))


def uneven(rank: int, step: int) -> int:
    """Steps of a real job differ."""
    return us(800 + 100 * (rank == 1) + 37 * (step * step % 7))


def made(tmp_path: Path, *, apart: int, **planted: Any) -> Job:
    """Rank 1 begins ``apart`` steps after rank 0, which ends as many before it."""

    def seen(rank: int, step: int) -> bool:
        return step < STEPS - apart if rank == 0 else step >= apart

    base: dict[str, Any] = {"text": "Optimizer.step#AdamW.step".format, "seen": seen}
    run = Planted(2, STEPS, **(base | planted))
    return job_of(run.write(tmp_path / "run"), tmp_path)


@pytest.mark.parametrize("payload", [False, True])
@pytest.mark.parametrize("work", [even, uneven])
def test_captures_a_step_apart_claim_nothing(tmp_path: Path, work: Any, payload: bool) -> None:
    job = made(tmp_path, apart=1, work=work, payload=payload)
    check(job.result, "result-1")
    for name in ("collectives", "stragglers", "walk"):
        assert job.result[name]["status"] == "withheld"
        assert job.result[name]["items" if name != "collectives" else "groups"] == []
    for document in job.lanes.values():
        parts = document["causes"]["exposed_comm"]
        assert parts["wait_gated"] == parts["transfer_gated"] == parts["pipeline_bubble"] == 0
    alignment, reason = job.result["alignment"], job.result["walk"]["reason"]
    if not payload and work is uneven:
        # Without ids ends that disagree are not matched at all; then the dates are all there is.
        assert reason.startswith("matched 0 %")
        assert alignment["status"] == "session_start"
        assert alignment["offsets"][1]["offset_ns"] == 1_000_000_007
        return
    assert alignment["status"] == "not_aligned"
    assert {row["offset_ns"] for row in alignment["offsets"]} == {None}
    assert "steps have no numbers" in reason
    assert "steps have no numbers" in render_index(job.result)


@pytest.mark.parametrize("payload", [False, True])
@pytest.mark.parametrize("work", [even, uneven])
def test_captures_that_begin_together_are_believed(
    tmp_path: Path, work: Any, payload: bool
) -> None:
    job = made(tmp_path, apart=0, work=work, payload=payload)
    assert job.result["alignment"]["status"] == "aligned"
    assert job.result["collectives"]["status"] == job.result["walk"]["status"] == "ok"
    offsets = [row["offset_ns"] for row in job.result["alignment"]["offsets"]]
    assert offsets == [0, 1_000_000_007]


def test_uneven_steps_tell_the_place_whatever_the_dates_say(tmp_path: Path) -> None:
    # Hosts whose calendars differ by more than a step: the ends alone decide.
    job = made(tmp_path, apart=0, work=uneven, payload=True, calendar=lambda rank: us(9_000) * rank)
    assert job.result["alignment"]["status"] == "aligned"
    even_steps = made(
        tmp_path / "even", apart=0, work=even, payload=True, calendar=lambda rank: us(9_000) * rank
    )
    assert even_steps.result["walk"]["status"] == "withheld"


def test_numbers_of_steps_put_captures_right(tmp_path: Path) -> None:
    job = made(tmp_path, apart=1, work=even, payload=True, text="step {}".format)
    assert job.result["alignment"]["status"] == "aligned"
    assert [row["offset_ns"] for row in job.result["alignment"]["offsets"]] == [0, 1_000_000_007]
    assert set(job.result["walk"]["steps"]) <= set(range(1, STEPS - 1))
    assert job.result["walk"]["status"] == "ok"
