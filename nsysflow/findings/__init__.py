"""Findings: every question asked of a lane, answered from its sections alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from nsysflow.findings import across, device, host, measurement, work
from nsysflow.findings.base import Answer, Document, Lane, Question, finding, unavailable
from nsysflow.model import IDLE_CAUSES

QUESTIONS: tuple[Question, ...] = (
    *host.QUESTIONS,
    *device.QUESTIONS,
    *work.QUESTIONS,
    *across.QUESTIONS,
    *measurement.QUESTIONS,
)

# Answered from kernels and collectives, which a CUDA graph traced as a whole does not show.
_INSIDE = ("kernel_efficiency", "exposed_communication", "pipeline_bubble", "recomputation",
           "stragglers")  # fmt: skip
# Beyond this share of the window what is seen outside of graphs tells nothing of the whole.
MUCH_OPAQUE = 0.1
# What holds the GPU up is told by the launching thread, and what is queued by the launch.
_BY_LAUNCH = {*IDLE_CAUSES} - {"idle_unattributed"}
_CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
_ORDER = {"opportunity": 0, "info": 1, "error": 2, "unavailable": 3, "ok": 4}


def findings(document: Document, *, alone: bool) -> list[dict[str, Any]]:
    """Return the answer to every question, by bound, largest first; cards before the rest."""
    items = document["steps"]["items"]
    lengths = [i["end_ns"] - i["start_ns"] for i in items if i["kept"] and not i["outlier"]]
    lane = Lane(document, alone, tuple(lengths))
    counts = document["capture"]["counts"]
    blind = not counts["kernels"] and not counts["graph_rows"]
    ask = _unanswered if blind else _told
    found = [(question, finding(ask(question), lane)) for question in QUESTIONS]
    return in_order([each if blind else _but_for_graphs(each, q, lane) for q, each in found])


def _but_for_graphs(found: dict[str, Any], question: Question, lane: Lane) -> dict[str, Any]:
    """Return a finding, or that nothing can be told where graphs hide what would tell it."""
    opaque = lane.document["buckets"]["graph_opaque"]
    hidden = question.category in _INSIDE and opaque > MUCH_OPAQUE * lane.window_ns
    if not hidden or found["status"] != "ok":
        return found
    reason = "CUDA graphs were traced as a whole: what ran in them is not known"
    asked = replace(question, answer=lambda _lane: unavailable(reason, "--cuda-graph-trace=node"))
    return finding(asked, lane)


def _unanswered(question: Question) -> Question:
    """Return a question as it stands where no kernel was recorded: what idles cannot be told."""
    reason = "no kernels are in this capture"
    return replace(question, answer=lambda _lane: unavailable(reason, "--trace=cuda"))


def _told(question: Question) -> Question:
    """Return a question that is not answered by the want of launches to tell a cause by."""
    if question.bucket not in _BY_LAUNCH and question.id != "pauses":
        return question

    def answer(lane: Lane) -> Answer:
        if lane.launched or any(lane.idle[cause] for cause in _BY_LAUNCH):
            return question.answer(lane)
        what = "no CUDA calls were recorded"
        if not lane.lacks(_CALLS):
            what = "no device work was recorded with the call that asked for it"
        return unavailable(f"{what}, so the host's part cannot be told", "--trace=cuda")

    return replace(question, answer=answer)


def in_order(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return findings as pages show them: cards by bound, then the rest by status."""
    return sorted(
        found, key=lambda f: (_ORDER[f["status"]], -(f["bound_ns_per_step"] or 0), f["id"])
    )
