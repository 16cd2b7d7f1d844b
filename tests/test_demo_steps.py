"""Steps of synthetic runs against their schedule: twenty seeds over every setting of evidence."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.analyse import analyse_lane
from nsysflow.convert import convert_trace, trace_folder
from nsysflow.demo import make_run
from nsysflow.demo.plan import DATA_PARALLEL, LATE_CAUSES, Plan
from nsysflow.find import find_inputs
from nsysflow.rank import rank_table
from nsysflow.settings import Limits, Settings
from tests.support.command import check_identity

if TYPE_CHECKING:
    from pathlib import Path

STEPS = 8
ANNOTATED = {"numbered": "nvtx_step", "profiler": "nvtx_step", "optimizer": "optimizer_range"}
EVIDENCE = (
    ("nvtx", "osrt", "sync", "payload"),
    ("nvtx",),
    ("osrt", "sync"),
    (),
    ("nvtx", "sync", "payload"),
)
RANGES = ("numbered", "profiler", "optimizer", "none")


@dataclass(frozen=True)
class Case:
    """One run: its truth and our document of one of its ranks."""

    plan: Plan
    steps: list[dict[str, Any]]
    document: dict[str, Any]


def plan_of(seed: int) -> Plan:
    """Every evidence meets every kind of step range; the rest is drawn."""
    rng = Random(seed)  # noqa: S311 - repeatable
    evidence = frozenset(EVIDENCE[seed % len(EVIDENCE)])
    ranges = RANGES[seed // len(EVIDENCE) % len(RANGES)]
    data_parallel = rng.choice(DATA_PARALLEL)
    parallel = rng.choice(({}, {"tensor_parallel": 2}, {"pipeline_parallel": 2}))
    # Nothing but annotations tells an evaluation or a checkpoint.
    told = "nvtx" in evidence and ranges != "none"
    return Plan(
        ranks=2, steps=STEPS, kernels=1_300, seed=seed, evidence=evidence, step_ranges=ranges,
        data_parallel=data_parallel, late=rng.choice(LATE_CAUSES),
        micro_batches=rng.choice((1, 2, 3)), warm_up=rng.choice((1, 2)),
        eval_step=rng.choice((None, 3)) if told else None,
        checkpoint_step=rng.choice((None, 5)) if told else None,
        # A host that nothing holds up gathers for the next step early, which the truth leaves out.
        item=data_parallel == "fsdp" or rng.random() < 0.5, **parallel,
    )  # fmt: skip


def made(folder: Path, plan: Plan, rank: int) -> Case:
    """Make a run and analyse one of its ranks."""
    truth = make_run(folder / "run", plan)
    (only,) = (i for i in find_inputs([folder / "run"]).inputs if i.file == f"rank{rank}.sqlite")
    settings, limits, name = Settings(), Limits(temp_dir=folder), trace_folder(only)
    convert_trace(only, folder / name, settings, limits)
    capture = json.loads((folder / name / "capture.json").read_text("utf-8"))
    (lane,) = rank_table([capture | {"trace": name}], settings).lanes
    document = analyse_lane(folder, lane, settings, limits)
    check_identity(document)
    return Case(plan, truth["ranks"][rank]["steps"], document)


def dropped(case: Case) -> dict[int, str]:
    return {row["index"]: row["reason"] for row in case.document["steps"]["dropped"]}


def check_windows(case: Case, *, first_seen: bool) -> None:
    """To the ns; where only ends of steps are known, the first one has no beginning."""
    items = case.document["steps"]["items"]
    expected = case.steps if first_seen else case.steps[1:]
    assert [(i["index"], i["start_ns"], i["end_ns"]) for i in items] == [
        (step["index"], step["start_ns"], step["end_ns"]) for step in expected
    ]
    reasons = dropped(case)
    for step in case.steps:
        if step["index"] == 0 and not first_seen:
            assert reasons.pop(0) == "partial"
            continue
        reason = reasons.pop(step["index"], None)
        assert (reason is None) == step["kept"], step["index"]
        assert step["kept"] or reason in step["reasons"]
    assert reasons == {}


def check_buckets(case: Case) -> None:
    kept = [item for item in case.document["steps"]["items"] if item["kept"]]
    window = sum(item["buckets"]["window_ns"] for item in kept)
    indices = {item["index"] for item in kept}
    for bucket in case.steps[0]["buckets"]:
        planted = sum(s["buckets"][bucket] for s in case.steps if s["index"] in indices)
        found = case.document["buckets"][bucket]
        assert abs(found - planted) <= max(0.02 * planted, 0.002 * window), bucket


@pytest.mark.parametrize("seed", range(20))
def test_planted_steps_are_found(seed: int, tmp_path: Path) -> None:
    plan = plan_of(seed)
    case = made(tmp_path, plan, rank=seed % 2)
    seen = plan.has("nvtx") and plan.step_ranges in ANNOTATED
    source = ANNOTATED[plan.step_ranges] if seen else "optimizer_kernels"
    steps = case.document["steps"]
    assert steps["source"] == source
    check_windows(case, first_seen=source == "nvtx_step")
    check_buckets(case)
    numbered = [plan.first_number + k for k in range(STEPS)]
    if source == "nvtx_step":
        assert [item["number"] for item in steps["items"]] == numbered
    assert steps["note"] is None
    assert steps["confidence"] > 0.5
    kinds = {row["kind"]: row["count"] for row in case.document["amortised"]}
    planted = {
        kind: 1
        for kind, step in (("checkpoint", plan.checkpoint_step), ("eval", plan.eval_step))
        if step is not None
    }
    assert kinds == planted


def test_every_setting_is_met() -> None:
    plans = [plan_of(seed) for seed in range(20)]
    assert len({(plan.evidence, plan.step_ranges) for plan in plans}) == 20
    assert any(plan.eval_step for plan in plans)
    assert any(plan.checkpoint_step for plan in plans)
    assert {plan.data_parallel for plan in plans} == set(DATA_PARALLEL)


def test_an_evaluation_between_optimizer_clusters(tmp_path: Path) -> None:
    """Without step ranges a step ends with its optimizer: what follows is of the next window."""
    plan = Plan(
        ranks=2, steps=STEPS, kernels=1_300, step_ranges="none", eval_step=3, checkpoint_step=5
    )
    case = made(tmp_path, plan, rank=0)
    assert dropped(case) == {0: "partial", 4: "eval", 6: "checkpoint"}
    (checkpoint, evaluation) = case.document["amortised"]
    assert (checkpoint["kind"], evaluation["kind"]) == ("checkpoint", "eval")
    # Six writes of 9 ms and six copies of 6.5 ms.
    assert 80e6 < checkpoint["ns_each"] < 120e6
