"""Collectives on the timeline, split by the job: planted truth, sums, and what stays unsplit."""

from __future__ import annotations

import re
from collections import Counter
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.analyse import timeline_marks
from nsysflow.demo import make_run
from nsysflow.demo.plan import Plan
from nsysflow.job import drawn as job_drawn
from nsysflow.job.drawn import stretches
from nsysflow.job.lanes import NEVER
from nsysflow.render import render_rank
from nsysflow.settings import Settings
from tests.support.export import us
from tests.support.job_run import Job, Planted, job_of
from tests.support.schemas import check
from tests.support.timeline import Drawn, Mark, check_form, drawn_steps

if TYPE_CHECKING:
    from pathlib import Path

    from tests.support.export import Export

SPLIT = {"wait", "transfer", "host_late", "bubble"}
EVERY = Settings(timeline_steps=tuple(range(40)))
# Kept steps of the planted run: its first has no step before it.
STEPS = 8


def work(rank: int, step: int) -> int:
    return us(600) + us(40 * ((rank * 5 + step * 3) % 7)) + (us(300) if rank == 2 else 0)


def late(rank: int, step: int) -> int:
    """Rank 1 asks for the optimizer while its collective runs, or only after it."""
    return us(30) if rank != 1 else us(900 + 120 * (step % 3))


def comm(drawn: Drawn) -> list[Mark]:
    return [mark for mark in drawn.of("stream") if mark.group in SPLIT | {"unsplit", "hidden"}]


def has_path(page: str, css: str) -> bool:
    """Whether the static picture has marks with this fill, outlined where they are few or not."""
    return re.search(rf'<path class="{css}(?: few)?" d="M', page) is not None


def expected(planted: Planted, rank: int, number: int) -> list[tuple[str, int, int]]:
    """What one collective does, on the true time line, by plain arithmetic."""
    arrived = planted.arrivals()
    start, until, end = arrived[number][rank], max(arrived[number]), planted.ends[number]
    begin = us(1_000) if number == 0 else planted.ends[number - 1]
    asked = begin + planted.asked(rank, number)
    found: list[tuple[str, int, int]] = []
    for at in range(start, end, 1_000):
        name = "host_late" if at < asked else "wait" if at < until else "transfer"
        if found and found[-1][0] == name:
            found[-1] = (name, found[-1][1], at + 1_000)
        else:
            found.append((name, at, at + 1_000))
    return found


@pytest.fixture(scope="module")
def planted() -> Planted:
    return Planted(4, STEPS, work, asked=late)


@pytest.fixture(scope="module")
def job(planted: Planted, tmp_path_factory: pytest.TempPathFactory) -> Job:
    folder = tmp_path_factory.mktemp("job")
    return job_of(planted.write(folder / "run"), folder, EVERY)


def test_every_collective_is_drawn_as_planted(job: Job, planted: Planted) -> None:
    seen: Counter[str] = Counter()
    for label, document in job.lanes.items():
        check(document, "rank-1")
        check_form(document)
        shown = drawn_steps(document)
        kept = [item["number"] for item in document["steps"]["items"] if item["kept"]]
        assert sorted(step.item["number"] for step in shown) == kept
        for step in shown:
            off = planted.clock(int(label))
            marks = [(m.group, m.start + off, m.end + off) for m in comm(step)]
            first, last = step.item["start_ns"] + off, step.item["end_ns"] + off
            true = [each for k in range(STEPS) for each in expected(planted, int(label), k)]
            # A collective may lie on an edge of a step: the window shows its part.
            assert marks == [
                (name, max(a, first), min(b, last)) for name, a, b in true if a < last and b > first
            ]
            assert marks
            seen.update(group for group, _, _ in marks)
    assert set(seen) == {"wait", "transfer", "host_late"}


def test_marks_add_up_to_the_causes(job: Job) -> None:
    """All kept steps are drawn and nothing is hidden: the picture holds what the table says."""
    for document in job.lanes.values():
        drawn: Counter[str] = Counter()
        for step in drawn_steps(document):
            for mark in comm(step):
                drawn[mark.group] += mark.covered
        parts = document["causes"]["exposed_comm"]
        assert drawn["wait"] == parts["wait_gated"]
        assert drawn["transfer"] == parts["transfer_gated"]
        assert drawn["host_late"] == parts["wait_host_late"] + parts["transfer_host_late"]


def test_the_page_names_and_draws_the_split(job: Job) -> None:
    page = render_rank(job.lanes["0001"])
    for css, words in (
        ("x-wait", "comm, waiting for other ranks"),
        ("x-late", "comm, host late as well"),
        ("comm", "comm, transfer · exposed communication"),
    ):
        assert has_path(page, css)
        assert f"{words}</li>" in page
    assert "transfer not known</li>" not in page


@pytest.mark.parametrize("lack", ["no clock", "a rank missing"])
def test_what_cannot_be_told_stays_unsplit(lack: str, tmp_path: Path) -> None:
    """Too little is matched: neither waiting nor transfer is drawn, and the legend says so."""
    planted = Planted(3, STEPS, work)
    if lack == "no clock":
        # Only one rank of each collective is there.
        planted.skip = [(rank, step) for rank in (1, 2) for step in range(STEPS)]
    folder = planted.write(tmp_path / "run")
    if lack == "a rank missing":
        (folder / "rank2.sqlite").unlink()
    for document in job_of(folder, tmp_path).lanes.values():
        groups = {mark.group for step in drawn_steps(document) for mark in comm(step)}
        assert not groups & SPLIT
        if groups:
            page = render_rank(document)
            assert has_path(page, "x-unsplit")
            assert not has_path(page, "x-wait")
            assert "comm, wait or transfer not known</li>" in page


def busy(export: Export, rank: int, step: int, begin: int) -> None:
    """Short collectives on a stream of their own, all ranks but one early."""
    for k in range(60):
        at = begin + us(55 + 8 * k)
        export.kernel(
            "ncclDevKernel_AllGather_RING_LL",
            at + us((k + step) % 3 if rank else 0),
            at + us(4),
            pid=100 + rank,
            stream=21,
            launch=(begin + us(20), begin + us(22)),
        )


def test_merged_marks_keep_their_counts_and_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Compute runs beside them only in part: the piles of short ops are split too."""
    planted = Planted(3, 5, lambda _rank, _step: us(5), more=busy)
    planted.transfer = us(700)
    folder = planted.write(tmp_path / "run")
    full = job_of(folder, tmp_path / "full")
    monkeypatch.setattr(timeline_marks, "UNITS", 12)
    monkeypatch.setattr(timeline_marks, "LONGEST_COLLECTIVES", 3)
    few = job_of(folder, tmp_path / "few")
    merged: Counter[str] = Counter()
    for label, document in few.lanes.items():
        check_form(document)
        check(document, "rank-1")
        for step, whole in zip(drawn_steps(document), drawn_steps(full.lanes[label]), strict=True):
            marks, singles = step.row("Stream 21, AllGather"), whole.row("Stream 21, AllGather")
            # The three longest are never merged, so they may be cut.
            assert 60 <= sum(mark.n for mark in marks) <= 66
            assert sum(mark.covered for mark in marks) == sum(mark.covered for mark in singles)
            merged.update(mark.group for mark in marks if mark.n > 1)
    assert {"wait", "transfer"} <= set(merged)


def test_beyond_the_room_the_short_ones_stay_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_drawn, "MOST_ADDED", 2)
    planted = Planted(3, STEPS, lambda rank, step: us(500 + 10 * step + 100 * rank))
    document = job_of(planted.write(tmp_path / "run"), tmp_path, EVERY).lanes["0000"]
    marks = [mark for step in drawn_steps(document) for mark in comm(step)]
    shown = len(drawn_steps(document))
    assert len(marks) <= shown + 2
    assert document["timeline"]["note"].endswith("are drawn as what they mostly did")
    # Rank 0 waits 200 us of 300.
    assert sum(mark.group == "wait" and mark.dur == us(300) for mark in marks) >= shown - 2


@pytest.mark.parametrize("seed", range(30))
def test_stretches_equal_a_loop_over_instants(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    start = draw.randrange(-50, 50)
    end = start + draw.randrange(1, 60)
    until = draw.choice([NEVER, start, end, draw.randrange(start, end + 1)])
    edges = sorted(draw.sample(range(start - 5, end + 5), 6))
    late = list(zip(edges[::2], edges[1::2], strict=True))
    bubble = draw.random() < 0.3

    def kind(at: int) -> str:
        if until == NEVER:
            return "unsplit"
        if any(a <= at < b for a, b in late):
            return "host_late"
        return ("bubble" if bubble else "wait") if at < until else "transfer"

    found = stretches((start, until, end), late, bubble=bubble)
    assert [kind(at) for at in range(start, end)] == [
        name for low, high, name in found for _ in range(low, high)
    ]
    assert all(a[2] != b[2] for a, b in pairwise(found))


@pytest.mark.slow
def test_a_planted_pipeline_bubble_is_drawn_as_such(tmp_path: Path) -> None:
    """What stages wait for each other: planted, summed by cause and drawn are one number each."""
    plan = Plan(
        ranks=4, steps=6, kernels=2_500, stall_every=0, drift_ppb=0, late="none",
        tensor_parallel=2, pipeline_parallel=2, micro_batches=4,
    )  # fmt: skip
    truth = make_run(tmp_path / "run", plan)
    job = job_of(tmp_path / "run", tmp_path, Settings(timeline_steps=tuple(range(100, 106))))
    for rank in truth["ranks"]:
        document = job.lanes[f"{rank['rank']:04d}"]
        kept = [step for step in rank["steps"] if step["kept"]]
        planted_ns = sum(step["collectives"]["pp:send_recv"]["wait_ns"] for step in kept)
        steps = drawn_steps(document)
        assert sorted(step.item["number"] for step in steps) == [step["number"] for step in kept]
        bubbles = [mark for step in steps for mark in step.of("stream") if mark.group == "bubble"]
        # Each micro-batch can wait on its way forward and on its way back.
        assert len(bubbles) >= len(kept)
        assert sum(mark.covered for mark in bubbles) == planted_ns > 0
        assert document["causes"]["exposed_comm"]["pipeline_bubble"] == planted_ns
        page = render_rank(document, job.result)
        assert has_path(page, "x-bubble")
        assert "pipeline bubble</li>" in page


def test_a_lane_alone_stays_unsplit(tmp_path: Path) -> None:
    planted = Planted(1, 4, work)
    document: dict[str, Any] = job_of(planted.write(tmp_path / "run"), tmp_path).lanes["0000"]
    assert {mark.group for step in drawn_steps(document) for mark in comm(step)} == {"unsplit"}
