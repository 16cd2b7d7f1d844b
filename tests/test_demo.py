"""The generator: rows that could have happened, and a truth that the rows bear out."""

from __future__ import annotations

import tomllib
from collections import Counter, defaultdict
from itertools import pairwise
from typing import Any

import pytest

from tests.support.demo_rows import (
    Run,
    collectives,
    device_work,
    make,
    step_ranges,
    sweep,
    texts,
)  # fmt: skip

SMALL = {"kernels": 2_400, "steps": 6}
LAYOUTS: dict[str, dict[str, Any]] = {
    "one": {"ranks": 1},
    "fsdp": {"ranks": 4, "seed": 1},
    "ddp_data": {"ranks": 4, "seed": 2, "data_parallel": "ddp", "late": "data"},
    "tensor": {"ranks": 4, "seed": 3, "tensor_parallel": 2, "late": "host"},
    "pipeline": {"ranks": 4, "seed": 4, "pipeline_parallel": 4, "micro_batches": 3},
    "all": {
        "ranks": 16, "seed": 5, "tensor_parallel": 2, "pipeline_parallel": 2, "late": "rotating",
        "eval_step": 2, "checkpoint_step": 4, "kernels": 1_200,
    },
}  # fmt: skip
EXPECTED_LATE = {"fsdp": 2, "ddp_data": 2, "tensor": 2, "pipeline": 2}


@pytest.fixture(scope="module", params=LAYOUTS)
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("demo") / request.param
    return make(folder, **{**SMALL, **LAYOUTS[request.param]})


def test_device_work_follows_its_launch_and_its_stream(run: Run) -> None:
    for rank in run.ranks:
        work = device_work(rank)
        assert all(row["start"] >= row["call"]["start"] for row in work)
        assert all(row["end"] > row["start"] for row in work)
        streams = defaultdict(list)
        for row in work:
            streams[row["streamId"]].append(row)
        assert set(streams) <= {row["streamId"] for row in rank["TARGET_INFO_CUDA_STREAM"]}
        for rows in streams.values():
            rows.sort(key=lambda row: row["call"]["start"])
            for one, other in pairwise(rows):
                assert one["end"] <= other["start"]


def test_a_thread_does_one_thing_at_a_time(run: Run) -> None:
    for rank in run.ranks:
        threads = defaultdict(list)
        for row in rank["CUPTI_ACTIVITY_KIND_RUNTIME"]:
            threads[row["globalTid"]].append((row["start"], row["end"]))
        assert len(threads) == 2  # the main thread and autograd's
        for calls in threads.values():
            calls.sort()
            for one, other in pairwise(calls):
                assert one[1] <= other[0]
        ids = Counter(row["correlationId"] for row in rank["CUPTI_ACTIVITY_KIND_RUNTIME"])
        assert max(ids.values()) == 1
        assert all(
            row["correlationId"] in ids for row in rank["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"]
        )


def test_ranges_and_calls_nest_strictly(run: Run) -> None:
    for rank in run.ranks:
        threads = defaultdict(list)
        for row in rank["NVTX_EVENTS"]:
            if row["eventType"] == 59:
                threads[row["globalTid"]].append((row["start"], row["end"]))
        for row in rank["CUPTI_ACTIVITY_KIND_RUNTIME"]:
            threads[row["globalTid"]].append((row["start"], row["end"]))
        for spans in threads.values():
            open_ends: list[int] = []
            for start, end in sorted(spans, key=lambda span: (span[0], -span[1])):
                while open_ends and open_ends[-1] <= start:
                    open_ends.pop()
                assert not open_ends or end < open_ends[-1]
                open_ends.append(end)


def test_every_launch_lies_in_a_step_range(run: Run) -> None:
    for rank in run.ranks:
        steps = step_ranges(rank)
        assert [row["text"] for row in steps] == [f"step {100 + n}" for n in range(len(steps))]
        for row in device_work(rank):
            assert any(s["start"] <= row["call"]["start"] < s["end"] for s in steps)


def test_members_of_a_collective_end_together_after_the_last_arrived(run: Run) -> None:
    if len(run.ranks) == 1:
        pytest.skip("one rank has no collective")
    groups: dict[tuple[int, int], list[tuple[int, Any, int]]] = defaultdict(list)
    for number, rank in enumerate(run.ranks):
        ordinal: Counter[int] = Counter()
        for comm, count, kernel in collectives(rank):
            groups[comm, ordinal[comm]].append((number, kernel, count))
            ordinal[comm] += 1
    members = {int(c["hash"]): c["members"] for c in run.truth["communicators"]}
    for (comm, _), rows in groups.items():
        assert [number for number, _, _ in rows] == members[comm]
        ends = [run.true_ns(number, kernel["end"]) for number, kernel, _ in rows]
        starts = [run.true_ns(number, kernel["start"]) for number, kernel, _ in rows]
        assert max(ends) - min(ends) <= 5  # rounding of two clocks
        assert min(ends) - max(starts) > 5_000
        assert len({kernel["name"] for _, kernel, _ in rows}) == 1
        assert len({count for _, _, count in rows}) == 1


def test_windows_and_buckets_are_those_of_the_rows(run: Run) -> None:
    for rank, truth in zip(run.ranks, run.truth["ranks"], strict=True):
        work, edge = device_work(rank), None
        for step, span in zip(truth["steps"], step_ranges(rank), strict=True):
            owned = [r for r in work if span["start"] <= r["call"]["start"] < span["end"]]
            end = max(row["end"] for row in owned if row["streamId"] == 7)
            start = min(row["start"] for row in owned) if edge is None else edge
            assert (step["start_ns"], step["end_ns"]) == (start, end)
            assert step["buckets"] == sweep(work, start, end)
            assert sum(step["buckets"].values()) == end - start
            assert sum(step["idle"].values()) == step["buckets"]["idle"]
            assert sum(k["count"] for k in step["kernels"].values()) == sum(
                bool(row["name"]) for row in owned
            )
            work_ns = sum(row["end"] - row["start"] for row in owned if row["kind"] == "comm")
            assert step["kernels"].get("comm", {"work_ns": 0})["work_ns"] == work_ns
            assert work_ns == sum(c["work_ns"] for c in step["collectives"].values())
            edge = end


def test_the_logged_loss_drains_the_queue(run: Run) -> None:
    for rank, truth in zip(run.ranks, run.truth["ranks"], strict=True):
        names = texts(rank)
        calls = sorted(rank["CUPTI_ACTIVITY_KIND_RUNTIME"], key=lambda row: row["start"])
        blocking = [c for c in calls if names[c["nameId"]].startswith("cudaStreamSynchronize")]
        work = device_work(rank)
        reads = [row for row in work if row.get("copyKind") == 2 and row["bytes"] == 4]
        for step in truth["steps"]:
            if "checkpoint" in step["reasons"]:
                continue
            evaluates = "eval" in step["reasons"]
            assert step["syncs"]["count"] == 1 + evaluates
            assert step["syncs"]["bytes"] == 4 * step["syncs"]["count"]
        assert len(reads) == sum(1 + ("eval" in step["reasons"]) for step in truth["steps"])
        for read in reads:
            sync = next(c for c in blocking if c["start"] > read["call"]["start"])
            assert sync["end"] >= read["end"]
            asleep = [row for row in work if read["end"] < row["start"] < sync["end"]]
            assert not asleep  # nothing was queued behind it


def test_planted_troubles_are_where_they_were_planted(run: Run) -> None:
    for rank in run.truth["ranks"]:
        for step in rank["steps"]:
            idle, index = step["idle"], step["index"]
            assert (idle.get("data_loading", 0) > 10_000_000) == (index % 4 == 2)
            assert (idle.get("jit_or_load", 0) > 10_000_000) == (index == 0)
            assert (idle.get("cuda_malloc_free", 0) > 700_000) == (index in {0, 5})
            # Logging and the tiny kernels of the optimizer leave the GPU idle in every step.
            assert idle["host_sync"] > 500_000
            assert idle["launch_bound"] > 0
            assert step["kept"] == (not step["reasons"])
        assert "jit_or_load" in rank["steps"][0]["reasons"]


def test_the_late_rank_waits_least(run: Run) -> None:
    name = run.folder.name
    straggler = run.truth["straggler"]
    if name not in EXPECTED_LATE:
        assert straggler is None
        return
    assert straggler["rank"] == EXPECTED_LATE[name]
    waits = [
        sum(c["wait_ns"] for step in rank["steps"] for key, c in step["collectives"].items()
            if not key.startswith("pp"))
        for rank in run.truth["ranks"]
    ]  # fmt: skip
    if name != "pipeline":  # there every rank is a stage of its own
        assert min(waits) == waits[straggler["rank"]]


def test_one_capture_s_time_is_the_other_s_by_the_true_offset(run: Run) -> None:
    for item in run.truth["instances"]:
        comm = next(c for c in run.truth["communicators"] if c["name"] == item["communicator"])
        assert len(item["arrivals_ns"]) == len(comm["members"])
        assert max(item["arrivals_ns"]) == item["last_ns"]
        assert item["end_ns"] - item["last_ns"] == item["transfer_ns"]
    for rank, file in zip(run.truth["ranks"], run.ranks, strict=True):
        session = file["TARGET_INFO_SESSION_START_TIME"][0]
        assert session["utcEpochNs"] == rank["clock"]["utc_ns"]
        first, clock = run.truth["ranks"][0]["clock"], rank["clock"]
        # The sessions lie so far apart; until the first step their clocks have drifted, too.
        apart = clock["session_true_ns"] - first["session_true_ns"]
        drifted = [5.0 * 10**9 - c["session_true_ns"] for c in (first, clock)]
        drifted = [t * c["drift_ppb"] / 1e9 for t, c in zip(drifted, (first, clock), strict=True)]
        assert clock["offset_ns"] == pytest.approx(apart + drifted[0] - drifted[1], abs=2)


def test_model_file_and_mfu(run: Run) -> None:
    model = tomllib.loads((run.folder / "nsysflow.toml").read_text(encoding="utf-8"))["model"]
    truth = run.truth["model"]
    core = 6 * model["layers"] * model["hidden"] * model["seq_len"]
    assert truth["flops_per_token"] == 6 * model["params"] + core
    assert model["world_size"] == len(run.ranks)
    for rank in run.truth["ranks"]:
        kept = [s["end_ns"] - s["start_ns"] for s in rank["steps"] if s["kept"]]
        seconds = sum(kept) / len(kept) / 1e9
        flops = truth["flops_per_token"] * model["tokens_per_step"] / model["world_size"] / seconds
        assert rank["mfu"] == pytest.approx(flops / 989.4e12, abs=1e-6)
        assert 0.01 < rank["mfu"] < 0.7
