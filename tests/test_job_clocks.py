"""Clocks of many files: offsets and drift against planted ones, and drift that must be refused."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from nsysflow.job.clocks import Capture, Clocks, align
from nsysflow.job.instances import Members
from nsysflow.job.lanes import OP, Ints, JobLane, Ops
from nsysflow.job.matching import Group, Matching
from tests.support.export import us
from tests.support.job_run import Planted, job_of
from tests.support.schemas import check

COUNT = 200
SECOND = 1_000_000_000
Teams = list[list[tuple[int, ...]]]


class Run:
    """Collectives of ``files`` ranks over ``span`` ns; ``ppb`` is how fast each clock runs."""

    def __init__(
        self,
        ppb: list[int],
        span: int,
        noise: int = 0,
        teams: Teams | None = None,
    ) -> None:
        """Plant the run; ``teams`` take turns, each splits all files into groups."""
        random = np.random.default_rng([span, noise, *np.abs(ppb)])
        files = len(ppb)
        self.ppb, self.offset = ppb, random.integers(-5_000_000, 5_000_000, files)
        self.true = np.linspace(SECOND, SECOND + span, COUNT).astype(np.int64)
        finish = random.exponential(noise, (COUNT, files)).astype(np.int64) if noise else 0
        end = self.true[:, None] + np.zeros(files, np.int64) + finish
        start = self.true[:, None] - us(100) - random.integers(0, us(300), (COUNT, files))
        lane = np.tile(np.arange(files), COUNT)
        column = {name: np.full(len(lane), -1, np.int64) for name in ("bytes", "peer", "root")}
        column |= {
            "lane": lane,
            "start_ns": self.shown(start).reshape(-1),
            "end_ns": self.shown(end).reshape(-1),
            "op": np.full(len(lane), OP["all_reduce"]),
        }
        self.ops = Ops(column, np.ones(len(lane), np.bool_), ())
        teams = teams or [[tuple(range(files))]]
        groups = [members for team in teams for members in team]
        instance, group = np.empty((COUNT, files), np.int64), []
        for turn in range(COUNT):
            for members in teams[turn % len(teams)]:
                instance[turn, list(members)] = len(group)
                group.append(groups.index(members))
        found = Matching(instance.reshape(-1), np.array(group), np.zeros(len(lane), np.bool_))
        found.groups = [Group(str(members), members) for members in groups]
        self.members = Members.of(found, self.ops)
        self.span = span
        self.lanes = [JobLane(f"{k}", k, k, None, Path(), ()) for k in range(files)]

    def shown(self, true: Ints) -> Ints:
        """Return what the clocks of the files, in the last axis, show at true times."""
        drift = np.rint((true - SECOND) * (np.array(self.ppb) / 1e9)).astype(np.int64)
        found: Ints = true - self.offset + drift
        return found

    def align(self) -> Clocks:
        """Align, with sessions that begin together."""
        captures = [Capture(f"{k}", 0, self.span + SECOND) for k in range(len(self.ppb))]
        return align(self.ops, self.lanes, self.members, captures)

    def worst(self, clocks: Clocks) -> int:
        """Return how far any file's time line is from the first file's own, at any time."""
        shown = self.shown(np.repeat(self.true[:, None], len(self.ppb), axis=1))
        files = np.tile(np.arange(len(self.ppb)), (COUNT, 1))
        return int(np.abs(clocks.to_job(files, shown) - shown[:, :1]).max())


@pytest.mark.parametrize(
    "ppb",
    [[0, 5_000], [5_000, 0], [0, 3_000, -7_000, 20_000], [9_000, 9_000, 9_000, 9_000],
     [-20_000, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 20_000]],
)  # fmt: skip
@pytest.mark.parametrize("noise", [0, us(3)])
def test_drift_is_followed_to_the_residual(ppb: list[int], noise: int) -> None:
    run = Run(ppb, 30 * SECOND, noise)
    clocks = run.align()
    assert clocks.status == "aligned"
    assert clocks.sigma_ns is not None
    assert clocks.sigma_ns <= 2 * noise + 10
    # Uncorrected, the clocks part by 30 us for each 1000 ppb.
    assert run.worst(clocks) <= 3 * clocks.sigma_ns + 10
    assert (clocks.offset[0], clocks.slope[0]) == (0, 0)
    relative = (np.array(ppb) - ppb[0]) / 1e9
    assert np.abs(clocks.slope + relative).max() <= (100e-9 if noise else 2e-9)
    assert ("drift by Theil-Sen" in clocks.method) == bool(relative.any())


@pytest.mark.parametrize("noise", [0, us(3)])
def test_groups_that_reach_across_hosts_do_not_hold_each_other_in_place(noise: int) -> None:
    """Pairs on one host outnumber what tells its clock from the other's, milliseconds away."""
    pairs = [(file, file + 1) for file in range(0, 16, 2)]
    across: list[tuple[int, ...]] = [tuple(range(0, 16, 2)), tuple(range(1, 16, 2))]
    run = Run([0] * 16, SECOND, noise, [list(pairs), across, list(pairs), list(pairs)])
    clocks = run.align()
    assert clocks.sigma_ns is not None
    assert clocks.sigma_ns <= 2 * noise
    assert run.worst(clocks) <= noise


def test_times_go_to_the_job_and_back() -> None:
    run = Run([4_000, -9_000, 20_000], 60 * SECOND)
    clocks = run.align()
    for file in range(3):
        own = run.shown(np.repeat(run.true[:, None], 3, axis=1))[:, file]
        there = clocks.to_job(np.full(COUNT, file), own)
        assert np.abs(clocks.to_file(file, there) - own).max() <= 1


def test_a_short_capture_shows_no_drift() -> None:
    run = Run([0, 20_000, 0, 0], 8 * SECOND)
    clocks = run.align()
    assert not clocks.slope.any()
    assert "drift" not in clocks.method
    # Not corrected, it is in the error that is told.
    assert clocks.p95_ns is not None
    assert clocks.p95_ns >= 8 * SECOND * 20_000 // 10**9 // 4


@pytest.mark.parametrize(
    "ppb", [[0, 20_000, 0, 0], [20_000, 0, 0, 0], [0, 0, 9_000, 9_000], [0] * 15 + [-5_000]]
)
@pytest.mark.parametrize("noise", [0, us(3)])
def test_the_error_told_of_a_short_capture_covers_its_drift(ppb: list[int], noise: int) -> None:
    run = Run(ppb, 8 * SECOND, noise)
    clocks = run.align()
    assert not clocks.slope.any()
    assert clocks.sigma_ns is not None
    assert run.worst(clocks) > us(5)
    assert run.worst(clocks) <= 3 * clocks.sigma_ns


def test_drift_below_the_noise_is_refused() -> None:
    run = Run([0, 500, -500, 0], 12 * SECOND, us(50))
    clocks = run.align()
    assert not clocks.slope.any()
    assert "no drift above the residual" in clocks.method
    assert clocks.sigma_ns is not None
    assert run.worst(clocks) <= 3 * clocks.sigma_ns


def test_drift_stands_in_the_document(tmp_path: Path) -> None:
    ppb = 10_000
    run = Planted(
        3, 26, lambda rank, _step: us(600_000 + 40 * rank), payload=True,
        jump=lambda rank, step: -rank * step * 600_190 * ppb // 1_000_000,
    )  # fmt: skip
    result = job_of(run.write(tmp_path / "run"), tmp_path).result
    check(result, "result-1")
    found = result["alignment"]
    assert found["status"] == "aligned"
    assert found["residual_ns"] <= 500
    for rank, row in enumerate(found["offsets"]):
        assert (row["drift_ppb"] or 0) == pytest.approx(rank * ppb, abs=100)
        assert (row["drift_from_ns"] is None) == (rank == 0)
    walk = result["walk"]
    assert sum(item["ns"] for item in walk["items"]) == walk["step_ns"]
