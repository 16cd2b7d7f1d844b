"""The job: what its lanes are, and what can be said across them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsysflow import __version__
from nsysflow.analyse.document import NOT_BUILT
from nsysflow.mfu import job_section
from nsysflow.model import CATEGORIES, SCHEMA
from nsysflow.shares import fracs, median_ns

if TYPE_CHECKING:
    from nsysflow.rank import RankTable
    from nsysflow.record import Record
    from nsysflow.settings import Settings

MOST_BINS = 512


def analyse_job(
    out: Path,
    documents: Mapping[str, dict[str, Any]],
    table: RankTable,
    made: Record,
    settings: Settings,
) -> dict[str, Any]:
    """Return ``result.json`` from the documents of the lanes, in the order of the rank table."""
    del out
    lanes = [lane for lane in table.lanes if lane.label in documents]
    several = table.several_jobs
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "run": {
            "name": made.name,
            "inputs": [state.document() for state in made.states],
            "notes": [*made.notes, *table.notes],
            "ranks_expected": table.ranks_expected,
            "ranks_usable": _usable(documents),
            "missing_ranks": table.missing_ranks,
            "conflicts": list(table.conflicts),
            "several_jobs": several,
        },
        "ranks": [_rank(documents[lane.label]) for lane in lanes],
        "alignment": _cross(several, lanes) | {"method": None, "residual_ns": None, "offsets": []},
        "collectives": _cross(several, lanes) | {"matched_frac": None, "groups": []},
        "stragglers": _cross(several, lanes) | {"items": []},
        "walk": _cross(several, lanes) | {"steps": [], "step_ns": None, "items": []},
        "categories": _categories(list(documents.values())),
        "mfu": job_section(
            [documents[lane.label] for lane in lanes],
            settings.model,
            settings.gpu,
            table.ranks_expected,
            several,
        ),
        "findings": [],
    }


def _usable(documents: Mapping[str, dict[str, Any]]) -> int:
    """Count each known rank once, and every lane whose rank is unknown."""
    ranks = [document["lane"]["rank"] for document in documents.values()]
    return len({rank for rank in ranks if rank is not None}) + ranks.count(None)


def _cross(several: str | None, lanes: Sequence[object]) -> dict[str, Any]:
    if several:
        return {"status": "withheld", "reason": f"several jobs in one folder: {several}"}
    if len(lanes) == 1:
        return {"status": "not_applicable", "reason": "one lane"}
    return dict(NOT_BUILT)


def _rank(document: dict[str, Any]) -> dict[str, Any]:
    lane, steps = document["lane"], document["steps"]
    label = lane["label"]
    findings = document["findings"]
    return {
        "label": label,
        "rank": lane["rank"],
        "rank_source": lane["rank_source"],
        "file": lane["file"],
        "host": lane["host"],
        "pid": lane["pid"],
        "device": lane["device"],
        "gpu_name": lane["gpu"]["name"] if lane["gpu"] else None,
        "page": f"rank-{label}.html",
        "result": f"rank-{label}.json",
        "steps_kept": steps["kept"],
        "period_ns": steps["period_ns"],
        "step_ns": _bins([i["end_ns"] - i["start_ns"] for i in steps["items"] if i["kept"]]),
        "buckets": document["buckets"],
        "causes": document["causes"],
        "mfu": document["mfu"]["mfu"],
        "top_finding": findings[0]["title"] if findings else None,
    }


def _bins(lengths: list[int]) -> list[int]:
    """Return step times, or the medians of equal runs of steps once there are more than fit."""
    if len(lengths) <= MOST_BINS:
        return lengths
    edges = [i * len(lengths) // MOST_BINS for i in range(MOST_BINS + 1)]
    return [median_ns(lengths[a:b]) or 0 for a, b in pairwise(edges)]


def _categories(documents: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Sum the categories over the lanes: shares of all their kept time."""
    totals = [sum(d["categories"][name]["ns"] for d in documents) for name in CATEGORIES]
    shares = fracs(totals)
    return {
        name: {"ns": ns, "frac": share, "finding": None}
        for name, ns, share in zip(CATEGORIES, totals, shares, strict=True)
    }
