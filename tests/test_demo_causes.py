"""Idle time by cause of synthetic runs against what was planted, and with evidence taken away."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.planted import Case, made, plan_of

if TYPE_CHECKING:
    from pathlib import Path

EVERYTHING = frozenset({"nvtx", "osrt", "sync", "payload"})
# Causes that only annotations can tell.
ANNOTATED = ("checkpoint", "eval", "gc", "comm_host", "logging", "host_other_nvtx")
KINDS = {"host_sync", "data_loading", "launch_bound", "cuda_malloc_free", "launch_latency"}


def idle(case: Case) -> tuple[Counter[str], Counter[str], int]:
    """Found and planted idle time by cause over the kept steps, and their length."""
    kept = {item["index"] for item in case.document["steps"]["items"] if item["kept"]}
    planted: Counter[str] = Counter()
    for step in case.steps:
        if step["index"] in kept:
            planted.update(step["idle"])
    found = Counter(case.document["causes"]["idle"])
    return found, planted, case.document["buckets"]["window_ns"]


@pytest.mark.parametrize("seed", range(20))
def test_planted_causes_are_found(seed: int, tmp_path: Path) -> None:
    plan = replace(plan_of(seed), evidence=EVERYTHING, step_ranges="numbered")
    found, planted, window = idle(made(tmp_path, plan, rank=seed % 2))
    for cause in {*found, *planted}:
        off = abs(found[cause] - planted[cause])
        assert off <= max(0.02 * planted[cause], 0.002 * window), cause
        assert planted[cause] or found[cause] <= 0.01 * window, cause


def test_the_seeds_plant_every_kind() -> None:
    """Seeds that planted nothing would make the test above an empty one."""
    plans = [replace(plan_of(seed), evidence=EVERYTHING) for seed in range(20)]
    assert {plan.item for plan in plans} >= {True}
    assert len({plan.late for plan in plans}) > 2


@pytest.mark.parametrize("taken", ["nvtx", "osrt", "sync", "payload", "nvtx osrt"])
def test_without_its_evidence_a_cause_is_not_claimed(taken: str, tmp_path: Path) -> None:
    full = replace(plan_of(0), evidence=EVERYTHING, step_ranges="none", item=True)
    gone = frozenset(taken.split())
    before, planted, _ = idle(made(tmp_path / "full", full, rank=0))
    assert planted.keys() >= {"host_sync", "data_loading"}
    after, _, window = idle(made(tmp_path / "less", replace(full, evidence=EVERYTHING - gone), 0))
    if "nvtx" not in gone:
        # What the device did is the same; only what is said about it may change.
        assert abs(sum(after.values()) - sum(before.values())) <= 0.002 * window
    else:
        assert [cause for cause in ANNOTATED if after[cause]] == []
    if gone >= {"nvtx", "osrt"}:
        assert after["data_loading"] == 0
        assert after["host_sync"] > 0
