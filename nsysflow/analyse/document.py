"""Assemble the result document of one lane from its measured stages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsysflow import __version__, interrupt
from nsysflow.analyse import causes, timeline
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.phase import measure_phases
from nsysflow.analyse.windows import Window, regularity
from nsysflow.analyse.workspace import Row, Workspace
from nsysflow.analyses import ANALYSES
from nsysflow.analyses.base import LIST_ROWS, Analysis, Known, Section
from nsysflow.analyses.efficiency import SMALL_NS, with_rate
from nsysflow.analyses.gaps import MOST as MOST_GAPS
from nsysflow.findings import findings
from nsysflow.mfu import lane_section
from nsysflow.mfu.measured import TENSOR_CLASSES
from nsysflow.model import BUCKETS, OWN, SCHEMA
from nsysflow.shares import frac, mean_ns, median_ns

if TYPE_CHECKING:
    from nsysflow.rank import Lane
    from nsysflow.settings import Settings

MOST_STEPS = 10_000
MOST = {"gaps": MOST_GAPS, "kernel_chains": 20}


def rank_document(
    work: Workspace, lane: Lane, capture: dict[str, Any], facts: Facts, settings: Settings
) -> dict[str, Any]:
    """Return ``rank-<label>.json``: every section of one lane.

    Raises:
        AssertionError: parts do not sum to their whole, a fault of the measurement.
    """
    measure_phases(work, facts)
    document = {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "lane": _lane(lane),
        "capture": _capture(capture, facts),
        "steps": _steps(facts),
        "buckets": {"window_ns": facts.window_ns} | {b: facts.total(b) for b in BUCKETS},
        **causes.sections(work, facts),
        **_sections(work, lane, capture, facts),
        "findings": [],
        "amortised": list(facts.steps.amortised),
        "timeline": timeline.section(work, facts, MOST_STEPS, settings.timeline_steps),
    }
    causes.check(document)
    world = (capture.get("rank_evidence") or {}).get("world_size")
    judge(document, settings, world, lane.captured, alone=lane.alone)
    return document


def judge(
    document: dict[str, Any],
    settings: Settings,
    world: int | None,
    captured: int | None,
    *,
    alone: bool,
) -> None:
    """Fill in what follows from the measured sections: MFU, findings, the card of each category.

    Args:
        document: a rank document; changed in place.
        settings: the run's settings.
        world: the number of ranks that the capture tells of.
        captured: how many lanes its job has in this run, None where that is not known.
        alone: the run has no other lane.
    """
    document["mfu"] = lane_section(document, settings.model, settings.gpu, world, captured)
    compute = document["causes"]["compute"]
    tensor_ns = sum(compute.get(name, 0) for name in TENSOR_CLASSES)
    with_rate(document["efficiency"], document["mfu"], document["buckets"]["window_ns"], tensor_ns)
    document["findings"] = findings(document, alone=alone)
    for name, part in document["categories"].items():
        part["finding"] = _first_card(document["findings"], name)


def _first_card(found: list[dict[str, Any]], category: str) -> str | None:
    """Return the id of the largest opportunity of a category."""
    cards = (f["id"] for f in found if f["category"] == category and f["status"] == "opportunity")
    return next(cards, None)


def _lane(lane: Lane) -> dict[str, Any]:
    names = (
        "rank", "rank_source", "label", "file", "host", "pid", "device", "gpu", "gpu_source",
        "shared_gpu",
    )  # fmt: skip
    return {name: getattr(lane, name) for name in names}


def _capture(capture: dict[str, Any], facts: Facts) -> Section:
    span = facts.span
    levels = facts.levels.values()
    first, last = span["start_ns"], span["end_ns"]
    # Beyond the first and last op a user's window holds only idle time, which is not the lane's.
    beyond = sum(row["window_ns"] for row in levels) - (last - first)
    buckets = {bucket: sum(row[bucket] for row in levels) for bucket in BUCKETS}
    buckets["idle"] -= beyond
    counts = {
        "kernels": span["kernels"],
        "memcpys": span["memcpys"],
        "memsets": span["memsets"],
        "graph_rows": span["graph_rows"],
        "api_calls": facts.host_rows["api_calls"],
        "nvtx_ranges": facts.host_rows["nvtx_ranges"],
    }
    return {
        "status": "ok",
        "nsys_version": capture.get("nsys_version"),
        "schema_version": capture.get("schema_version"),
        "start_ns": capture.get("start_ns"),
        "end_ns": capture.get("end_ns"),
        "utc_start_ns": _big(capture.get("utc_start_ns")),
        "tables": capture["tables"],
        "counts": counts,
        "span": {
            "start_ns": first,
            "end_ns": last,
            "buckets": {"window_ns": last - first} | buckets,
        },
        "warnings": [*map(_doubt, capture.get("doubts") or ()), *capture["warnings"]],
        "dropped": capture["dropped"],
        "thread_states": capture["thread_states"],
    }


def _doubt(text: str) -> Row:
    # As severe as what nsys calls an error, and marked as ours.
    return {"severity": 3, "text": f"{OWN}{text}", "count": 1}


def _big(value: int | None) -> int | str | None:
    return str(value) if value is not None and abs(value) > 2**53 else value


def _steps(facts: Facts) -> Section:
    steps = facts.steps
    kept = steps.kept
    typical = [window.length_ns for window in kept if not window.outlier]
    dropped = [(w.index, w.number, w.drop) for w in steps.windows if w.drop] + list(steps.unseen)
    return {
        "status": "ok",
        "source": steps.source,
        "pattern": steps.pattern,
        "confidence": confidence(facts),
        "kept": len(kept),
        "dropped": [
            {"index": index, "number": number, "reason": reason}
            for index, number, reason in sorted(dropped, key=lambda d: d[0])
        ],
        "median_ns": median_ns(typical),
        "period_ns": mean_ns(facts.window_ns, len(kept)),
        "note": steps.note,
        "chosen": steps.chosen,
        "items": [_item(facts, window) for window in steps.windows[:MOST_STEPS]],
    }


def _item(facts: Facts, window: Window) -> Row:
    row = facts.segment(window)
    return {
        "index": window.index,
        "number": window.number,
        "start_ns": window.start_ns,
        "end_ns": window.end_ns,
        "kept": window.kept,
        "outlier": window.outlier,
        "flags": list(window.flags),
        "buckets": {"window_ns": row["window_ns"]} | {bucket: row[bucket] for bucket in BUCKETS},
    }


def confidence(facts: Facts) -> float:
    """Return how far the steps can be trusted: source, evenness, share of busy time in them."""
    steps = facts.steps
    if steps.source == "none":
        return steps.confidence
    busy = sum(row["window_ns"] - row["idle"] for row in facts.levels.values())
    inside = sum(facts.segment(w)["window_ns"] - facts.segment(w)["idle"] for w in steps.windows)
    return round(steps.confidence * regularity(steps) * (frac(inside, busy) or 0.0), 6)


def _sections(
    work: Workspace, lane: Lane, capture: dict[str, Any], facts: Facts
) -> dict[str, Section]:
    columns = (*BUCKETS, "opaque_ns")
    levels = {column: facts.total(column) for column in columns}
    memory = lane.gpu.get("memory_bytes") if lane.gpu else None
    launched = facts.span["launched"] > 0
    known = Known(
        len(facts.steps.kept), facts.window_ns, levels, capture["tables"], launched, memory
    )
    return {each.name: _section(work, each, known, _params(lane, facts)) for each in ANALYSES}


def _section(work: Workspace, analysis: Analysis, known: Known, params: dict[str, Any]) -> Section:
    try:
        if analysis.missing(known.tables):
            return analysis.section({}, known)
        rows = {
            stem: work.rows(stem, **params | {"most": MOST.get(stem, LIST_ROWS)})
            for stem in analysis.queries
        }
        return analysis.section(rows, known)
    except Exception as error:  # noqa: BLE001 - one failed question must not cost the others
        interrupt.again()
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return {"status": "error", "reason": reason}


def _params(lane: Lane, facts: Facts) -> dict[str, Any]:
    return {
        "process": facts.process,
        "device": lane.device,
        "shift": facts.shift,
        "whole": facts.whole,
        "least_ns": facts.window_ns // 100,
        "small_ns": SMALL_NS,
        "uuid": lane.gpu.get("uuid") if lane.gpu else None,
        "bus": lane.gpu.get("bus") if lane.gpu else None,
    }
