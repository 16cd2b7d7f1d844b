"""Pipeline stages: how long each waits for its neighbours, against what the schedule must cost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nsysflow.job.lanes import NONE, OP
from nsysflow.job.study import MATCHED, Study
from nsysflow.shares import frac, mean_ns

# A bubble below this share of the step is small; so many micro-batches bring it there.
SMALL = 0.05


def section(study: Study, lanes: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return stages, micro-batches, the bubble in theory and as measured.

    Args:
        study: what is known across ranks.
        lanes: the rank documents with their exposed communication split, in the study's order.
    """
    count = max(study.stage, default=0) + 1
    if count == 1 and _unpaired(study):
        return {
            "status": "withheld",
            "reason": "which ranks send to each other was not found: they may be pipeline stages",
        }
    if count == 1:
        return {
            "status": "not_applicable",
            "reason": "no pipeline: no two ranks only send and receive",
        }
    if "pp" not in study.kind:
        return {
            "status": "withheld",
            "reason": "no sends and receives between the stages were matched",
        }
    untold = [document for document in lanes if _untold(document)]
    if untold:
        return {
            "status": "withheld",
            "reason": "waiting between pipeline stages could not be told from transfer on "
            f"{len(untold)} of {len(lanes)} ranks",
        }
    stages = [_stage(study, lanes, k) for k in range(count)]
    batches = _micro_batches(study, lanes)
    computes = [stage["compute_ns_per_step"] for stage in stages]
    average = sum(computes) // count
    return {
        "status": "ok",
        "micro_batches": batches,
        "theory_frac": None if batches is None else frac(count - 1, batches + count - 1),
        # The smallest m with (p - 1) / (m + p - 1) below the limit.
        "micro_batches_for_small": round((count - 1) * (1 - SMALL) / SMALL) + 1,
        "imbalance_ns_per_step": max(computes) - average,
        "stages": stages,
    }


def _unpaired(study: Study) -> bool:
    """Whether most sends and receives have no known peer, and the user does not say the layout."""
    ops = study.ops
    some = ops.owned & (ops["op"] == OP["send_recv"]) & ~study.found.alone
    matched = int((some & (study.found.instance != NONE)).sum())
    return "user" not in study.kind_source and matched < MATCHED * int(some.sum())


def _untold(document: dict[str, Any]) -> bool:
    answer = next((f for f in document["findings"] if f["id"] == "pipeline_bubble"), None)
    return answer is not None and answer["status"] == "unavailable"


def _stage(study: Study, lanes: Sequence[dict[str, Any]], number: int) -> dict[str, Any]:
    mine = [document for document, stage in zip(lanes, study.stage, strict=True) if stage == number]
    steps = sum(document["steps"]["kept"] for document in mine)
    window = sum(document["buckets"]["window_ns"] for document in mine)
    bubble = sum(document["causes"]["exposed_comm"]["pipeline_bubble"] for document in mine)
    compute = sum(sum(document["causes"]["compute"].values()) for document in mine)
    return {
        "stage": number,
        "labels": [document["lane"]["label"] for document in mine],
        "bubble_ns_per_step": mean_ns(bubble, steps) or 0,
        "bubble_frac": frac(bubble, window),
        "compute_ns_per_step": mean_ns(compute, steps) or 0,
    }


def _micro_batches(study: Study, lanes: Sequence[dict[str, Any]]) -> int | None:
    """Count forward passes by the embedding kernels of the first stage or the loss of the last."""
    last = max(study.stage)
    for stage, kind in (
        (0, "embedding"),
        (last, "embedding"),
        (last, "loss_softmax"),
        (0, "loss_softmax"),
    ):
        for document, at in zip(lanes, study.stage, strict=True):
            steps = int(document["steps"]["kept"])
            counts = [
                row["count"]
                for row in document["kernels"].get("top") or ()
                if row["class"] == kind and steps and row["count"] % steps == 0
            ]
            if at == stage and counts:
                return int(min(counts)) // steps
    return None
