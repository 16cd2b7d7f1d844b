"""Findings of the job: the lanes' questions with the walk's bounds, and those only a job has."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow import savings
from nsysflow.findings import in_order
from nsysflow.findings.base import FEW_STEPS
from nsysflow.job.cards import cards
from nsysflow.job.streams import ENOUGH
from nsysflow.shares import frac

Document = dict[str, Any]

# What a question's bound is made of, on the walk; others stand for themselves.
PARTS = {
    "launch_bound": ("launch_bound", "launch_latency", "micro_gap"),
    "gil_wait": ("gil_wait", "cpu_contention"),
    "exposed_comm": ("transfer_gated", "unsplit_gated"),
}
# A rank on the walk is named if it holds this share of a cause.
NAMED = 0.05
MOST_RANKS = 16
MOST_EVIDENCE = 3


def job_findings(
    lanes: Sequence[Document], sections: Mapping[str, Document] | None
) -> list[Document]:
    """Return the findings of the job, largest bound first.

    Args:
        lanes: rank documents, at least their lane, steps, buckets and findings.
        sections: the cross-rank sections; None if the lanes are not one job.
    """
    if sections is None and len(lanes) > 1:
        return []
    walk = sections["walk"] if sections and sections["walk"]["status"] == "ok" else None
    asked = [_asked(lanes, number, walk) for number in range(len(lanes[0]["findings"]))]
    if sections:
        asked += cards(lanes, sections)
        if walk is not None and matched_by_few_ends(sections["collectives"]):
            asked = [_no_more_than_medium(finding) for finding in asked]
    return in_order(asked)


def matched_by_few_ends(found: Mapping[str, Any]) -> bool:
    """Whether collectives without ids were matched by their ends, and by few of them."""
    groups = found.get("groups") or ()
    return any(g["communicator"] is None and g["instances"] < ENOUGH for g in groups)


def _no_more_than_medium(finding: Document) -> Document:
    return finding | {"confidence": "medium"} if finding["confidence"] == "high" else finding


def _asked(lanes: Sequence[Document], number: int, walk: Document | None) -> Document:
    name = sorted(finding["id"] for finding in lanes[0]["findings"])[number]
    found = [next(f for f in lane["findings"] if f["id"] == name) for lane in lanes]
    bucket = found[0]["bucket"]
    if walk is not None and bucket is not None:
        return _walked(lanes, found, walk, PARTS.get(bucket, (bucket,)))
    return _alone(lanes, found, walk is not None)


def _walked(
    lanes: Sequence[Document], found: Sequence[Document], walk: Document, parts: Sequence[str]
) -> Document:
    """Bound a question by what the walk charges to its causes."""
    by_label: dict[str, int] = {}
    for item in walk["items"]:
        if (item["cause"] or item["bucket"]) in parts:
            by_label[item["label"]] = by_label.get(item["label"], 0) + item["ns"]
    total = sum(by_label.values())
    place = {lane["lane"]["label"]: k for k, lane in enumerate(lanes)}
    first = min(place, key=lambda label: (-by_label.get(label, 0), place[label]))
    chosen = found[place[first]]
    fires = any(f["status"] == "opportunity" for f in found)
    worth = total >= savings.LEAST_FRAC * walk["step_ns"]
    status = "opportunity" if fires and worth else chosen["status"]
    if status == "opportunity" and not (fires and worth):
        status = "ok"
    largest = sorted(by_label, key=lambda label: (-by_label[label], place[label]))
    named = [label for label in largest if by_label[label] >= NAMED * total][:MOST_RANKS]
    sure = len(walk["steps"]) >= FEW_STEPS and chosen["confidence"] != "low"
    told = next((f for f in found if f["status"] == "opportunity"), chosen)
    return _merged(chosen if chosen["status"] == status else told, status) | {
        "bound_ns_per_step": total,
        "bound_frac": frac(total, walk["step_ns"]),
        "confidence": "high" if sure else chosen["confidence"],
        "n_steps": len(walk["steps"]),
        "evidence": _evidence(chosen, _name(lanes[place[first]])),
        "ranks": [_name(lanes[place[label]]) for label in named],
    }


def _alone(lanes: Sequence[Document], found: Sequence[Document], walked: bool) -> Document:
    """Take the lane that says most; without a walk its bound is that lane's own."""
    order = ("opportunity", "info", "error", "unavailable", "ok")
    best = min(
        range(len(found)),
        key=lambda k: (order.index(found[k]["status"]), -(found[k]["bound_ns_per_step"] or 0), k),
    )
    chosen = found[best]
    same = [k for k in range(len(found)) if found[k]["status"] == chosen["status"]]
    many = len(lanes) > 1 and chosen["status"] == "opportunity"
    confidence = "low" if many and not walked else chosen["confidence"]
    return _merged(chosen, chosen["status"]) | {
        "confidence": confidence,
        "evidence": _evidence(chosen, _name(lanes[best])) if len(lanes) > 1 else chosen["evidence"],
        "ranks": [_name(lanes[k]) for k in same[:MOST_RANKS]],
    }


# What a lane says of itself, said of all of them.
OF_RANKS = {
    "waits_for_others": {
        "title": "Ranks wait in collectives for others to arrive",
        "why": "A collective ends when its last member has arrived; these ranks came earlier.",
        "fix": "The stragglers of this job are who comes last, with the reason.",
    },
    "pipeline_bubble": {
        "title": "Stages wait for their neighbours in the pipeline",
        "fix": "Compare the bubble of the stages with theory.",
    },
}


def _merged(finding: Document, status: str) -> Document:
    words: Document = OF_RANKS.get(finding["id"], {}) if status == "info" else {}
    # A moment of one capture is none of the job's.
    return finding | words | {"status": status, "window_ns": None}


def _evidence(finding: Document, name: object) -> list[Any]:
    texts = [e if isinstance(e, str) else e["text"] for e in finding["evidence"][:MOST_EVIDENCE]]
    who = f"rank {name}" if isinstance(name, int) else name
    return [f"{who}: {text}" for text in texts]


def _name(lane: Document) -> int | str:
    found: int | str | None = lane["lane"]["rank"]
    return str(lane["lane"]["label"]) if found is None else found
