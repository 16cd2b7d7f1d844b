"""The job stage's arithmetic against plain loops, and the walk against planted truth."""

# ruff: noqa: S311  randomness that must be repeatable, not secret

from __future__ import annotations

import random
from functools import cache
from pathlib import Path
from statistics import median

import numpy as np
import pytest

from nsysflow.job.clocks import Capture, align
from nsysflow.job.instances import Members
from nsysflow.job.lanes import NEVER, NONE, OP, JobLane, Ops
from nsysflow.job.matching import anchors, by_communicator
from nsysflow.job.sequences import common
from nsysflow.job.stragglers import chance
from nsysflow.job.streams import by_stream
from nsysflow.job.waits import split
from tests.support.export import us
from tests.support.job_run import Planted, job_of

COLUMNS = (
    "lane", "start_ns", "end_ns", "order_ns", "op", "source", "comm", "ranks", "comm_rank", "bytes",
    "peer", "peers", "root", "stream", "step", "number", "op_no", "named", "beside",
    "nvlink", "pcie",
)  # fmt: skip
Row = dict[str, int]


def ops_of(rows: list[Row], comms: tuple[str, ...] = ()) -> Ops:
    """Columns of some rows; what a row does not say is missing."""
    base = dict.fromkeys(COLUMNS, NONE) | {"number": NEVER, "op": OP["all_reduce"], "source": 0}
    full = [base | {"order_ns": row["start_ns"]} | row for row in rows]
    full.sort(key=lambda row: (row["lane"], row["start_ns"]))
    column = {name: np.array([row[name] for row in full], np.int64) for name in COLUMNS}
    return Ops(column, np.ones(len(full), np.bool_), comms)


def lanes_of(count: int, traces: list[int] | None = None) -> list[JobLane]:
    files = traces or list(range(count))
    return [JobLane(f"{k:04d}", k, files[k], None, Path(), ()) for k in range(count)]


def captures_of(count: int, utc: list[int] | None = None) -> list[Capture]:
    return [Capture(f"rank{k}.sqlite", (utc or [0] * count)[k]) for k in range(count)]


@pytest.mark.parametrize("seed", range(40))
def test_a_longest_common_subsequence(seed: int) -> None:
    rng = random.Random(seed)
    a = [rng.randrange(4) for _ in range(rng.randrange(9))]
    b = [rng.randrange(4) for _ in range(rng.randrange(9))]

    @cache
    def length(i: int, j: int) -> int:
        if i == len(a) or j == len(b):
            return 0
        best = max(length(i + 1, j), length(i, j + 1))
        return max(best, 1 + length(i + 1, j + 1)) if a[i] == b[j] else best

    for from_end in (False, True):
        pairs = common(a, b, from_end=from_end)
        assert len(pairs) == length(0, 0)
        assert all(a[i] == b[j] for i, j in pairs)
        assert pairs == sorted(pairs)
        assert len({i for i, _ in pairs}) == len({j for _, j in pairs}) == len(pairs)


def test_what_a_capture_missed_shifts_nothing() -> None:
    assert common([1, 1, 1], [1, 1, 1, 1], from_end=True) == [(0, 1), (1, 2), (2, 3)]
    assert common([1, 1, 1], [1, 1, 1, 1]) == [(0, 0), (1, 1), (2, 2)]


@pytest.mark.parametrize("seed", range(20))
def test_medians_of_the_others(seed: int) -> None:
    rng = random.Random(seed)
    sizes = [rng.randint(2, 6) for _ in range(8)]
    at = np.repeat(np.arange(8), sizes)
    values = np.array([rng.randrange(20) for _ in at], np.int64)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    members = Members(np.arange(len(at)), at, first, np.array(sizes))
    for row, own in enumerate(members.others(values).tolist()):
        rest = [int(v) for k, v in enumerate(values) if at[k] == at[row] and k != row]
        assert own == int(median(rest) // 1)
    for number, found in enumerate(members.median(values).tolist()):
        assert found == int(median([int(v) for v in values[at == number]]) // 1)


def random_job(seed: int, comms: int = 3) -> tuple[list[Row], list[int]]:
    """Collectives of random groups of four lanes on clocks far apart."""
    rng = random.Random(seed)
    offsets = [rng.randrange(-(10**9), 10**9) for _ in range(4)]
    groups = [(0, 1, 2, 3)] + [tuple(sorted(rng.sample(range(4), 2))) for _ in range(comms - 1)]
    rows, now = [], 0
    for k in range(60):
        comm = rng.randrange(comms)
        starts = {lane: now + rng.randrange(10_000) for lane in groups[comm]}
        now = max(starts.values()) + 5_000 + rng.randrange(100)
        for lane, start in starts.items():
            rows.append(
                {
                    "lane": lane, "start_ns": start - offsets[lane], "end_ns": now - offsets[lane],
                    "comm": comm, "bytes": 1 + k % 3, "step": k // 10, "number": k // 10,
                }
            )  # fmt: skip
    return rows, offsets


@pytest.mark.parametrize("seed", range(12))
def test_waits_by_a_plain_loop(seed: int) -> None:
    rows, offsets = random_job(seed)
    ops, lanes = ops_of(rows, ("a", "b", "c")), lanes_of(4)
    numbered = [JobLane(x.label, x.rank, x.trace, None, Path(), (), 0) for x in lanes]
    found = by_communicator(ops, anchors(ops, numbered))
    assert (found.instance >= 0).all()
    members = Members.of(found, ops)
    clocks = align(ops, lanes, members, captures_of(4))
    assert clocks.status == "aligned"
    assert (clocks.offset == np.array(offsets) - offsets[0]).all()
    waits = split(ops, ops["lane"], (found, members), clocks, missing=False)
    for number in range(found.count):
        mine = [k for k in range(len(ops)) if found.instance[k] == number]
        begun = {k: int(ops["start_ns"][k]) + offsets[int(ops["lane"][k])] for k in mine}
        last = max(begun.values())
        for k in mine:
            assert waits.until[k] - ops["start_ns"][k] == last - begun[k]
            assert waits.last[k] == (begun[k] == last and list(begun.values()).count(last) == 1)
            if begun[k] < last:
                assert begun[int(waits.for_op[k])] == last


def test_counts_that_differ_are_aligned_by_operation_and_size() -> None:
    rows, _ = random_job(3, comms=1)
    short = [r for k, r in enumerate(rows) if not (r["lane"] == 1 and 20 <= k < 30)]
    ops = ops_of(short, ("a",))
    found = by_communicator(ops, anchors(ops, [JobLane("x", 0, 0, None, Path(), (), 0)] * 4))
    for number in range(found.count):
        mine = found.instance == number
        assert len({*ops["bytes"][mine].tolist()}) == 1
        assert len({*ops["lane"][mine].tolist()}) == mine.sum()
    assert (found.instance >= 0).mean() > 0.9


def test_streams_without_ids_form_the_groups_that_end_together() -> None:
    rng = random.Random(1)
    rows = []
    for pair in ((0, 1), (2, 3)):
        now = 0
        for k in range(30):
            starts = {lane: now + rng.randrange(200_000) for lane in pair}
            now = max(starts.values()) + 50_000 + rng.randrange(400_000)
            rows += [
                {"lane": lane, "start_ns": start, "end_ns": now + lane * 10**7, "stream": lane,
                 "step": 0, "number": k // 10}
                for lane, start in starts.items()
            ]  # fmt: skip
    ops, lanes = ops_of(rows), lanes_of(4)
    found = by_communicator(ops, np.zeros(len(ops), np.int64))
    by_stream(ops, lanes, np.zeros(len(ops), np.int64), found)
    assert sorted(group.lanes for group in found.groups) == [(0, 1), (2, 3)]
    assert (found.instance >= 0).all()


@pytest.mark.parametrize(("hits", "tries", "share"), [(5, 5, 0.25), (4, 9, 0.5), (0, 3, 0.1)])
def test_chance_by_counting(hits: int, tries: int, share: float) -> None:
    rng = random.Random(0)
    drawn = [sum(rng.random() < share for _ in range(tries)) >= hits for _ in range(40_000)]
    assert chance(hits, tries, share) == pytest.approx(sum(drawn) / len(drawn), abs=0.01)


def test_the_walk_of_random_lateness(tmp_path: Path) -> None:
    """Each step belongs to its last arriver; a transfer to the rank that computes after it."""
    rng = random.Random(7)
    work = [[us(300) + rng.randrange(us(200)) for _ in range(4)] for _ in range(8)]
    run = Planted(4, 8, lambda rank, step: work[step][rank])
    job = job_of(run.write(tmp_path / "run"), tmp_path)
    arrived, ends = run.arrivals(), run.ends
    steps = job.result["walk"]["steps"]
    # A window ends with the optimizer's kernel, 5 us after the collective.
    last = [row.index(max(row)) for row in arrived]
    by_rank = [0] * 4
    by_rank[0] += us(5)
    for step in steps:
        begin = (ends[step - 1] + us(5)) if step == steps[0] else ends[step - 1]
        by_rank[last[step]] += max(arrived[step]) - begin
        after = last[step + 1] if step + 1 in steps else 0
        by_rank[after] += us(100)
    found = [0] * 4
    for item in job.result["walk"]["items"]:
        found[int(item["label"])] += item["ns"] * len(steps)
    assert sum(by_rank) == ends[steps[-1]] + us(5) - ends[steps[0] - 1] - us(5)
    assert found == pytest.approx(by_rank, abs=10 * len(steps))
