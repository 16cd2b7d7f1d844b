"""Steps of synthetic runs against their schedule: twenty seeds over every setting of evidence."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsysflow.demo.plan import DATA_PARALLEL, Plan
from tests.support.planted import STEPS, Case, made, plan_of

if TYPE_CHECKING:
    from pathlib import Path

ANNOTATED = {"numbered": "nvtx_step", "profiler": "nvtx_step", "optimizer": "optimizer_range"}


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
