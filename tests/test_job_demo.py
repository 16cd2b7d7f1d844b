"""Synthetic runs against their truth: clocks, who is late and why, waits, kinds, the walk."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.demo import make_run
from nsysflow.demo.errands import STALL_NS
from nsysflow.demo.plan import Plan
from tests.support.job_run import Job, job_of
from tests.support.schemas import check

if TYPE_CHECKING:
    from collections.abc import Sequence

pytestmark = pytest.mark.slow

PLANS: dict[str, dict[str, Any]] = {
    "fsdp, compute": {"late": "compute"},
    "fsdp, data, no payload": {"late": "data", "evidence": frozenset({"nvtx", "osrt", "sync"})},
    "tensor and data parallel": {"late": "compute", "tensor_parallel": 2, "data_parallel": "ddp"},
    "data parallel, host": {"late": "host", "data_parallel": "ddp"},
    "fsdp and tensor parallel, compute": {"late": "compute", "tensor_parallel": 2, "seed": 1},
    "fsdp and tensor parallel, compute, another draw": {
        "late": "compute",
        "tensor_parallel": 2,
        "seed": 3,
    },
    "pipeline, compute": {
        "late": "compute",
        "ranks": 8,
        "tensor_parallel": 2,
        "pipeline_parallel": 2,
        "micro_batches": 4,
        "data_parallel": "ddp",
        "seed": 2,
    },
    "fsdp and tensor parallel, data": {"late": "data", "tensor_parallel": 2, "seed": 4},
    "tensor and data parallel, host": {
        "late": "host",
        "tensor_parallel": 2,
        "data_parallel": "ddp",
        "seed": 5,
    },
    "pipeline, fsdp, host": {
        "late": "host",
        "ranks": 8,
        "tensor_parallel": 2,
        "pipeline_parallel": 2,
        "micro_batches": 4,
        "seed": 3,
    },
    "tensor and data parallel, compute, another draw": {
        "late": "compute",
        "tensor_parallel": 2,
        "data_parallel": "ddp",
        "seed": 1,
    },
    "fsdp and tensor parallel, compute, larger": {
        "late": "compute",
        "tensor_parallel": 2,
        "kernels": 6_000,
    },
    "fsdp, data, and stalls of all loaders": {"late": "data", "steps": 10, "stall_every": 2},
    "pipeline": {"late": "none", "tensor_parallel": 2, "pipeline_parallel": 2, "micro_batches": 4},
    "drifting clocks": {"late": "compute", "data_parallel": "ddp", "drift_ppb": 4_000},
    "rotating": {"late": "rotating", "data_parallel": "ddp", "steps": 9},
}
BASE = {"ranks": 4, "steps": 6, "kernels": 2_500, "stall_every": 0, "drift_ppb": 0}
CAUSE = {"compute": "slow compute", "data": "data", "host": "host"}
COMPUTE = ("compute_only", "compute_comm_overlap")
IDLE = {"data": "data_loading", "host": "host_other_nvtx"}
# No run here lasts longer.
LASTS_S = 1
KIND = {"fsdp": "fsdp", "dp": "dp", "tp": "tp", "pp": "pp", "world": "unknown"}


@pytest.fixture(scope="module", params=PLANS)
def made(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[dict[str, Any], Job]:
    folder = tmp_path_factory.mktemp("demo")
    truth = make_run(folder / "run", Plan(**(BASE | PLANS[request.param])))
    return truth, job_of(folder / "run", folder)


def test_offsets_lie_within_the_residual(made: tuple[dict[str, Any], Job]) -> None:
    truth, job = made
    found = job.result["alignment"]
    assert found["status"] == "aligned"
    for rank, row in zip(truth["ranks"], found["offsets"], strict=True):
        off = abs(row["offset_ns"] - rank["clock"]["offset_ns"])
        # A capture too short to tell the drift has one offset; by its end clocks part so far.
        parted = (rank["clock"]["drift_ppb"] - truth["ranks"][0]["clock"]["drift_ppb"]) * LASTS_S
        assert off <= max(3 * found["residual_ns"], 3, abs(parted))


def test_the_late_rank_and_its_cause(made: tuple[dict[str, Any], Job]) -> None:
    truth, job = made
    items = job.result["stragglers"]["items"]
    late = [(i["rank"], i["cause"]) for i in items if i["verdict"] == "straggler"]
    if truth["straggler"]:
        assert late == [(truth["straggler"]["rank"], CAUSE[truth["straggler"]["cause"]])]
    else:
        assert late == []
    rotates = len({rank for rank in truth["late_by_step"] if rank is not None}) > 1
    assert ({i["verdict"] for i in items} == {"rotating"}) == rotates


def test_no_rank_is_suspected_that_only_waits_for_the_late_one(
    made: tuple[dict[str, Any], Job],
) -> None:
    truth, job = made
    items = job.result["stragglers"]["items"]
    suspected = [i["rank"] for i in items if i["verdict"] in ("straggler", "cannot_tell")]
    assert suspected == ([truth["straggler"]["rank"]] if truth["straggler"] else [])


def test_waiting_and_transfer_of_every_rank(made: tuple[dict[str, Any], Job]) -> None:
    truth, job = made
    for rank in truth["ranks"]:
        document = job.lanes[f"{rank['rank']:04d}"]
        kept = [step for step in rank["steps"] if step["kept"]]
        for name in ("wait_ns", "transfer_ns"):
            planted = sum(row[name] for step in kept for row in step["collectives"].values())
            found = sum(row[name] for row in document["collectives"]["items"])
            assert found == pytest.approx(planted, rel=0.001, abs=20_000)


def test_communicators_are_known_for_what_they_are(made: tuple[dict[str, Any], Job]) -> None:
    truth, job = made
    groups = job.result["collectives"]["groups"]
    assert job.result["collectives"]["matched_frac"] == 1
    if any(group["communicator"] for group in groups):
        planted = sorted((KIND[c["kind"]], c["members"]) for c in truth["communicators"])
        found = sorted((g["kind"], [int(x) for x in g["members"]]) for g in groups)
        assert found == planted


def test_the_walk_sums_and_documents_are_valid(made: tuple[dict[str, Any], Job]) -> None:
    truth, job = made
    walk = job.result["walk"]
    assert sum(item["ns"] for item in walk["items"]) == walk["step_ns"]
    assert walk["step_ns"] == pytest.approx(truth["totals"]["period_ns"], rel=0.005)
    assert {i["cause"] for i in walk["items"]}.isdisjoint({"wait_gated", "wait_host_late"})
    check(job.result, "result-1")
    for document in job.lanes.values():
        check(document, "rank-1")


def test_lateness_is_that_of_single_collectives(made: tuple[dict[str, Any], Job]) -> None:
    """A rank that is behind comes late to collective after collective: that is one delay."""
    truth, job = made
    if not truth["straggler"]:
        pytest.skip("no rank is late in every step")
    rank = truth["straggler"]["rank"]
    # Stages wait for each other by design: that is told as the pipeline's bubble.
    members = {
        each["name"]: each["members"] for each in truth["communicators"] if each["kind"] != "pp"
    }
    late: dict[int, int] = {}
    for each in truth["instances"]:
        whose = members.get(each["communicator"], ())
        mine = dict(zip(whose, each["arrivals_ns"], strict=bool(whose)))
        if mine.get(rank) == each["last_ns"]:
            others = [ns for other, ns in mine.items() if other != rank]
            number = truth["plan"]["first_number"] + each["step"]
            late[number] = max(late.get(number, 0), mine[rank] - round(median(others)))
    shown = job.result["stragglers"]["late"]
    (row,) = (row for row in shown["rows"] if row["label"] == f"{rank:04d}")
    assert row["ns"] == pytest.approx([late[number] for number in shown["steps"]], abs=5_000)
    assert max(row["ns"]) < job.result["walk"]["step_ns"] / 2


@pytest.fixture(scope="module")
def mended(
    made: tuple[dict[str, Any], Job], tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    """Make the same job again, drawn the same, with nobody late; return its true answers."""
    planned = made[0]["plan"]
    if not made[0]["straggler"]:
        pytest.skip("no rank is late in every step")
    folder = tmp_path_factory.mktemp("mended")
    plan = planned | {"evidence": frozenset(planned["evidence"]), "late": "none"}
    return make_run(folder / "run", Plan(**plan))


def spent(truth: dict[str, Any], rank: int, buckets: Sequence[str]) -> float:
    """Return a rank's time per kept step in some buckets."""
    steps = [step for step in truth["ranks"][rank]["steps"] if step["kept"]]
    return sum(step["buckets"][name] for step in steps for name in buckets) / len(steps)


def charged(job: Job, rank: int, cause: str) -> int:
    """Return what the walk charges to a cause of a rank."""
    return sum(
        item["ns"]
        for item in job.result["walk"]["items"]
        if item["label"] == f"{rank:04d}"
        and (item["bucket"] in COMPUTE if cause == "compute" else item["cause"] == IDLE[cause])
    )


def stalled(truth: dict[str, Any], rank: int) -> float:
    """Return what all loaders stall per kept step: the late rank waits that much longer still."""
    plan = Plan(**(truth["plan"] | {"evidence": frozenset(truth["plan"]["evidence"])}))
    kept = [k for k, step in enumerate(truth["ranks"][rank]["steps"]) if step["kept"]]
    return STALL_NS * sum(map(plan.stalls, kept)) / len(kept)


def test_the_walk_holds_the_planted_delay(
    made: tuple[dict[str, Any], Job], mended: dict[str, Any]
) -> None:
    """The walk charges the late rank with its delay, and with no less than the job gains without.

    Waiting for data or in a range of the host is nothing but the delay. Compute is on the walk with
    all its time: the delay is the part that each kernel is longer.
    """
    (truth, job), again = made, mended
    rank, cause = truth["straggler"]["rank"], truth["straggler"]["cause"]
    gain = truth["totals"]["period_ns"] - again["totals"]["period_ns"]
    planted, found = truth["straggler"]["extra_ns_per_step"], float(charged(job, rank, cause))
    if cause == "compute":
        own, usual = (spent(each, rank, COMPUTE) for each in (truth, again))
        longer = 1 - usual / own
        planted, found = longer * own, longer * found
    if cause == "data":
        planted += stalled(truth, rank)
    assert found == pytest.approx(planted, rel=0.05)
    assert found >= gain


def test_the_bound_is_what_the_job_gains_without_the_delay(
    made: tuple[dict[str, Any], Job], mended: dict[str, Any]
) -> None:
    """No bound may promise less than the job without the delay gains, nor much more."""
    truth, job = made
    gain = truth["totals"]["period_ns"] - mended["totals"]["period_ns"]
    (late,) = (i for i in job.result["stragglers"]["items"] if i["verdict"] == "straggler")
    assert gain > 0
    assert late["gain_bound_ns_per_step"] >= 0.99 * gain
    assert late["gain_bound_ns_per_step"] == pytest.approx(gain, rel=0.05)
