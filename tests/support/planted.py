"""Runs of the generator over every setting of evidence, with their truth and our document."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Any

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
