"""The gain of mending one rank alone, against the same run planted without its delay."""

# ruff: noqa: S311  randomness that must be repeatable, not secret

from __future__ import annotations

import random
from pathlib import Path

import pytest

from nsysflow.job.gain import spared_in_steps, spared_parts
from tests.support.export import us
from tests.support.job_run import Planted, job_of

RANKS, STEPS, SLOW = 2, 13, 1
FACTOR = 1.6


def drawn(seed: int) -> list[list[int]]:
    """Return what each rank computes in each step: the same times for all, in another order.

    The first step, which has no beginning, is the same for all too.
    """
    rng = random.Random(seed)
    times = [us(500 + 40 * k) for k in range(STEPS - 1)]
    return [[us(700), *rng.sample(times, len(times))] for _ in range(RANKS)]


@pytest.mark.parametrize("seed", [0, 1, 4])
def test_a_mended_rank_may_be_last_itself(tmp_path: Path, seed: int) -> None:
    work = drawn(seed)
    slow = [[round(ns * (FACTOR if rank == SLOW else 1)) for ns in mine]
            for rank, mine in enumerate(work)]  # fmt: skip
    run = Planted(RANKS, STEPS, lambda rank, step: slow[rank][step], payload=True)
    job = job_of(run.write(tmp_path / "run"), tmp_path)
    (late,) = (i for i in job.result["stragglers"]["items"] if i["verdict"] == "straggler")
    steps = job.result["walk"]["steps"]

    def length(times: list[list[int]], ranks: range) -> int:
        return sum(max(times[rank][step] for rank in ranks) for step in steps)

    everyone, other = range(RANKS), range(SLOW)
    gain = (length(slow, everyone) - length(work, everyone)) / len(steps)
    # Were it never last again, the job would gain more: as it is, it sometimes still is.
    assert length(slow, everyone) - length(slow, other) > 1.15 * gain * len(steps)
    assert late["rank"] == SLOW
    assert late["gain_bound_ns_per_step"] == pytest.approx(gain, rel=0.01)


def test_what_a_lane_spends_beyond_its_peers() -> None:
    mine = {"compute": 120, "host_sync": 10, "data_loading": 50}
    theirs = [{"compute": 90, "host_sync": 30}, {"compute": 100}, {"compute": 200, "gc": 5}]
    spared = spared_parts(mine, theirs)
    assert spared == pytest.approx({"compute": 1 / 6, "host_sync": 1, "data_loading": 1})


def test_gaps_between_kernels_shrink_no_more_than_the_kernels() -> None:
    theirs = [{"compute": 100, "micro_gap": 10}]
    assert spared_parts({"compute": 100, "micro_gap": 90}, theirs)["micro_gap"] == 0
    assert spared_parts({"compute": 125, "micro_gap": 90}, theirs)["micro_gap"] == pytest.approx(
        0.2
    )


def test_what_peers_wait_for_as_well_is_not_spared() -> None:
    """All wait 20 in the second step, the lane 6 more in each: that is what it spares."""
    mine = {0: {"data_loading": 6, "compute": 12}, 1: {"data_loading": 26, "compute": 12}}
    theirs = [{0: {"compute": 10}, 1: {"data_loading": 20, "compute": 8}}]
    spared = spared_in_steps({"data_loading": 12 / 32, "compute": 1 / 4}, mine, theirs)
    assert spared["data_loading"] == pytest.approx({0: 1, 1: 6 / 26})
    assert spared["compute"] == {0: 1 / 4, 1: 1 / 4}
