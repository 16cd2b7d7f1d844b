"""Planted runs: who comes last, by how much, and what a weak or missing clock forbids to say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from nsysflow.job.cards import _over_hosts
from nsysflow.render import render_index
from tests.support.export import Export, us
from tests.support.job_run import Job, Planted, job_of
from tests.support.schemas import check

LATE = us(300)
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def slow(rank: int, step: int) -> int:
    """Rank 2 computes 300 us longer; the others differ by a little, step by step."""
    return us(600) + (LATE if rank == 2 else us((rank * 7 + step * 3) % 5))


def made(tmp_path: Path, **planted: Any) -> Job:
    base: dict[str, Any] = {"ranks": 4, "steps": 9, "work": slow}
    run = Planted(**(base | planted))
    return job_of(run.write(tmp_path / "run"), tmp_path)


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    return made(tmp_path_factory.mktemp("job"))


def test_documents_are_valid_and_sums_hold(job: Job) -> None:
    check(job.result, "result-1")
    for document in job.lanes.values():
        check(document, "rank-1")
        parts = document["causes"]["exposed_comm"]
        assert sum(parts.values()) == document["buckets"]["exposed_comm"]
        shares = [part["frac"] for part in document["categories"].values()]
        assert round(sum(shares), 6) == 1
    walk = job.result["walk"]
    assert sum(item["ns"] for item in walk["items"]) == walk["step_ns"]


def test_clocks_are_found_to_the_residual(job: Job) -> None:
    found = job.result["alignment"]
    assert found["status"] == "aligned"
    offsets = [row["offset_ns"] for row in found["offsets"]]
    assert offsets == [1_000_000_007 * rank for rank in range(4)]
    assert found["residual_ns"] == 0


def test_waiting_and_transfer_are_what_was_planted(job: Job) -> None:
    run = Planted(4, 9, slow)
    arrived = run.arrivals()
    for label, document in job.lanes.items():
        rank = int(label)
        kept = [item["number"] for item in document["steps"]["items"] if item["kept"]]
        wait = sum(max(arrived[step]) - arrived[step][rank] for step in kept)
        (row,) = document["collectives"]["items"]
        assert (row["wait_ns"], row["transfer_ns"]) == (wait, len(kept) * us(100))
        assert row["work_ns"] == row["wait_ns"] + row["transfer_ns"]


def test_the_late_rank_is_named_with_its_cause(job: Job) -> None:
    (found,) = job.result["stragglers"]["items"]
    assert (found["rank"], found["verdict"], found["cause"]) == (2, "straggler", "slow compute")
    assert found["gain_bound_ns_per_step"] == pytest.approx(LATE, abs=us(5))
    (card,) = [f for f in job.result["findings"] if f["id"] == "straggler"]
    assert (card["status"], card["ranks"]) == ("opportunity", [2])


def test_few_ends_without_ids_are_worth_medium_at_most(job: Job, tmp_path: Path) -> None:
    assert job.result["walk"]["status"] == "ok"
    assert "high" not in {f["confidence"] for f in job.result["findings"]}
    told = made(tmp_path, payload=True)
    assert "high" in {f["confidence"] for f in told.result["findings"]}


def test_links_are_not_called_good_where_no_size_was_recorded(job: Job, tmp_path: Path) -> None:
    def answer(made: Job) -> str:
        found: dict[str, str] = {f["id"]: f["status"] for f in made.result["findings"]}
        return found["slow_links"]

    assert answer(job) == "unavailable"
    assert answer(made(tmp_path, payload=True)) == "ok"


@pytest.mark.parametrize(
    ("kind", "hosts", "status"),
    [
        ("tp", ("a", "b"), "info"),
        ("dp", ("a", "b"), "ok"),
        ("tp", ("a", "a"), "ok"),
        ("unknown", ("a", "a"), "ok"),
        ("unknown", ("a", "b"), "unavailable"),
        ("tp", ("a", None), "unavailable"),
        ("dp", (None, None), "ok"),
    ],
)
def test_tensor_parallelism_between_hosts_is_ruled_out_only_where_that_is_known(
    kind: str, hosts: tuple[str | None, str | None], status: str
) -> None:
    lanes = [{"lane": {"host": host, "file": f"rank{k}"}} for k, host in enumerate(hosts)]
    group = {"communicator": None, "kind": kind, "members": ["0000", "0001"],
             "hosts": sorted({host for host in hosts if host})}  # fmt: skip
    assert _over_hosts(lanes, [group])["status"] == status


def test_the_walk_stays_on_the_late_rank(job: Job) -> None:
    by_label: dict[str, int] = {}
    for item in job.result["walk"]["items"]:
        assert item["cause"] not in ("wait_gated", "wait_host_late")
        by_label[item["label"]] = by_label.get(item["label"], 0) + item["ns"]
    assert by_label["0002"] > 0.95 * job.result["walk"]["step_ns"]


def test_a_gather_that_nothing_waits_for_yet_sends_the_walk_nowhere(tmp_path: Path) -> None:
    """It outlasts the sum that the next kernel needs, and is the owner of that time."""

    def gather(export: Export, rank: int, _step: int, begin: int) -> None:
        last, pid = begin + us(50 + 600) + LATE, 100 + rank
        launch = (begin + us(40), begin + us(44))
        text = json.dumps({"NCCL communicator ID": 0xDEF, "Message size [bytes]": 1 << 20})
        export.nvtx(
            "ncclAllGather", launch[0] - us(1), launch[1] + us(1), pid=pid, domain=1,
            registered=True, jsonText=text,
        )  # fmt: skip
        # The late rank waits in it for rank 0 until 60 us after its own arrival at the sum.
        start = last + us(60 if rank == 0 else 10)
        export.kernel(GATHER, start, last + us(140), pid=pid, stream=30, launch=launch)

    job = made(tmp_path, payload=True, more=gather)
    assert len(job.result["collectives"]["groups"]) == 2
    walk = job.result["walk"]
    assert {item["label"] for item in walk["items"] if item["bucket"] == "compute_only"} == {"0002"}
    # All end the last step together: the sum and the kernel after it are the first rank's there.
    others = sum(item["ns"] for item in walk["items"] if item["label"] != "0002")
    assert others <= us(100 + 5) / len(walk["steps"])
    exposed = [item for item in walk["items"] if item["bucket"] == "exposed_comm"]
    assert {item["cause"] for item in exposed} <= {"transfer_gated", "transfer_host_late"}
    # The sum, and the gather's last 35 us: the five before run beside the kernel after the sum.
    assert sum(item["ns"] for item in exposed) == us(100 + 35)


def test_waiting_is_no_reason_to_blame_bandwidth(job: Job) -> None:
    victim = job.lanes["0000"]
    (card,) = [f for f in victim["findings"] if f["id"] == "exposed_comm"]
    assert card["bound_ns_per_step"] <= us(100)


@pytest.mark.parametrize("shift", [0, 5_000_000_000, -3_000_000_000])
def test_clock_shifts_names_and_order_change_nothing(job: Job, tmp_path: Path, shift: int) -> None:
    other = made(
        tmp_path,
        clock=lambda rank: 1_000_000_007 * rank + shift * (3 - rank),
        file=lambda rank: f"{'zyxw'[rank]}-node.sqlite",
    )
    for name in ("walk", "stragglers"):
        assert other.result[name] == job.result[name]
    theirs = other.result["collectives"]["groups"]
    assert theirs == job.result["collectives"]["groups"]
    assert {k: d["causes"] for k, d in other.lanes.items()} == {
        k: d["causes"] for k, d in job.lanes.items()
    }


def test_a_file_without_session_start_has_no_times(tmp_path: Path) -> None:
    job = made(tmp_path, session=lambda rank: rank != 1)
    found = job.result["alignment"]
    assert found["status"] == "not_aligned"
    assert "rank1.sqlite" in found["reason"]
    assert {row["offset_ns"] for row in found["offsets"]} == {None}
    assert job.result["walk"]["status"] == job.result["stragglers"]["status"] == "withheld"
    # Durations need no clock: the late rank's collective is the shortest.
    assert job.result["collectives"]["split_by"] == "durations"
    late, victim = (job.lanes[x]["causes"]["exposed_comm"] for x in ("0002", "0000"))
    assert late["wait_gated"] + late["wait_host_late"] == 0
    assert victim["wait_gated"] + victim["wait_host_late"] > 0


@pytest.mark.parametrize("lacking", [{1}, {0, 1, 2, 3}])
def test_many_collectives_do_not_stand_for_a_session_start(
    tmp_path: Path, lacking: set[int]
) -> None:
    job = made(tmp_path, steps=30, payload=True, session=lambda rank: rank not in lacking)
    found = job.result["alignment"]
    assert (found["status"], found["residual_ns"]) == ("not_aligned", None)
    assert "has no session start" in found["reason"]
    assert {row["offset_ns"] for row in found["offsets"]} == {None}
    (group,) = job.result["collectives"]["groups"]
    assert group["median_late"] == group["last_share"] == []
    assert job.result["collectives"]["split_by"] == "durations"
    for name in ("walk", "stragglers"):
        assert job.result[name]["status"] == "withheld"
        assert job.result[name]["reason"] == found["reason"]
    page = render_index(job.result)
    assert "are not compared" in page


def test_impossible_clocks_are_not_believed(tmp_path: Path) -> None:
    # A clock that jumps to and fro by more than a collective lasts: no offset can mend that.
    job = made(
        tmp_path, payload=True, jump=lambda rank, step: us(600) if rank == 0 and step % 2 else 0
    )
    assert job.result["alignment"]["status"] == "not_aligned"
    assert job.result["walk"]["status"] == "withheld"


def test_a_lag_at_the_same_pace_is_no_straggler(tmp_path: Path) -> None:
    job = made(tmp_path, work=lambda rank, step: us(600) + (LATE if (rank, step) == (2, 0) else 0))
    assert [i for i in job.result["stragglers"]["items"] if i["verdict"] == "straggler"] == []


def test_another_rank_late_in_every_step_is_rotation(tmp_path: Path) -> None:
    job = made(tmp_path, work=lambda rank, step: us(600) + (LATE if rank == step % 4 else 0))
    assert {i["verdict"] for i in job.result["stragglers"]["items"]} == {"rotating"}


def test_one_late_step_is_transient(tmp_path: Path) -> None:
    job = made(tmp_path, work=lambda rank, step: us(600) + (LATE if (rank, step) == (1, 5) else 0))
    (found,) = job.result["stragglers"]["items"]
    assert (found["rank"], found["verdict"]) == (1, "transient")


def test_two_steps_are_too_few_for_a_verdict(tmp_path: Path) -> None:
    job = made(tmp_path, steps=2, payload=True)
    assert {i["verdict"] for i in job.result["stragglers"]["items"]} <= {"cannot_tell"}
    assert job.result["walk"]["status"] == "ok"


def straggler_card(job: Job) -> dict[str, Any]:
    found: dict[str, dict[str, Any]] = {f["id"]: f for f in job.result["findings"]}
    return found["straggler"]


def test_who_came_last_in_too_few_steps_is_not_said_to_be_on_time(tmp_path: Path) -> None:
    job = made(tmp_path, steps=3, payload=True)
    (found,) = job.result["stragglers"]["items"]
    assert (found["rank"], found["verdict"]) == (2, "cannot_tell")
    card = straggler_card(job)
    assert (card["status"], card["ranks"]) == ("info", [2])
    assert card["title"] == "A rank came last, in too few steps to rule out chance"


def test_nobody_late_in_too_few_steps_is_no_answer(tmp_path: Path) -> None:
    job = made(tmp_path, steps=2, payload=True, work=lambda _rank, _step: us(600))
    found = job.result["stragglers"]
    assert (found["status"], found["items"]) == ("withheld", [])
    assert found["reason"] == "2 steps that all ranks kept are too few to tell who is late"
    assert straggler_card(job)["status"] == "unavailable"
    shown = render_index(job.result).partition('id="stragglers"')[2].partition("</section>")[0]
    assert found["reason"] in shown
    assert "found none" not in shown


def test_two_that_are_late_together_are_not_said_to_be_on_time(tmp_path: Path) -> None:
    """Mending one of them alone gains nothing, but the others do wait for them."""
    job = made(tmp_path, work=lambda rank, _step: us(600) + (LATE if rank in (1, 2) else 0))
    assert job.result["stragglers"]["items"] == []
    assert straggler_card(job)["title"] == "No rank alone makes the others wait in most steps"


def test_missing_ranks_withhold_who_came_last(tmp_path: Path) -> None:
    run = Planted(4, 9, slow)
    folder = run.write(tmp_path / "run")
    (folder / "rank2.sqlite").unlink()
    job = job_of(folder, tmp_path)
    assert job.result["stragglers"]["status"] == "withheld"
    assert "1 of 4 ranks" in job.result["stragglers"]["reason"]
    for document in job.lanes.values():
        parts = document["causes"]["exposed_comm"]
        assert parts["wait_gated"] == parts["transfer_gated"] == 0


def test_captures_that_share_some_steps_match_those(tmp_path: Path) -> None:
    job = made(tmp_path, payload=True, skip=[(3, 0), (3, 1), (3, 2)])
    group = job.result["collectives"]["groups"][0]
    assert group["members"] == ["0000", "0001", "0002", "0003"]
    assert [i["rank"] for i in job.result["stragglers"]["items"]] == [2]


def test_one_rank_alone_on_a_communicator_claims_nothing(tmp_path: Path) -> None:
    job = made(tmp_path, ranks=2, payload=True, skip=[(1, step) for step in range(9)])
    assert job.result["walk"]["status"] == "withheld"
    assert job.lanes["0000"]["causes"]["exposed_comm"]["wait_gated"] == 0


def test_equal_arrivals_have_no_last(tmp_path: Path) -> None:
    job = made(tmp_path, work=lambda _rank, _step: us(600))
    assert job.result["stragglers"]["items"] == []
    (group,) = job.result["collectives"]["groups"]
    assert {row["frac"] for row in group["last_share"]} == {0}
    assert group["wait_ns"] == 0
