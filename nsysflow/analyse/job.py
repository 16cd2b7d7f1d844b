"""The job: what its lanes are, and what can be said across them."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nsysflow import __version__, interrupt
from nsysflow.analyse.agreement import disagreements
from nsysflow.analyse.compose import compose
from nsysflow.analyse.failed import failed
from nsysflow.analyse.lane import lane_folder
from nsysflow.analyse.stored import Stored
from nsysflow.analyse.unfit import unfit
from nsysflow.job import bubble
from nsysflow.job.clocks import Capture
from nsysflow.job.drawn import split_timeline
from nsysflow.job.findings import job_findings
from nsysflow.job.lanes import job_lane
from nsysflow.job.layout import layout_of
from nsysflow.job.sections import across
from nsysflow.job.shares import lane_share, transfers
from nsysflow.job.study import Study, study
from nsysflow.mfu import job_section
from nsysflow.model import CATEGORIES, SCHEMA
from nsysflow.shares import fracs, median_ns

if TYPE_CHECKING:
    from nsysflow.rank import Lane, RankTable
    from nsysflow.record import Record
    from nsysflow.settings import Settings

Document = dict[str, Any]

MOST_BINS = 512
# What the job needs of a rank document at any one time; the rest may be large.
_LIGHT = (
    "lane", "steps", "buckets", "causes", "categories", "kernels", "mfu", "findings", "overlap",
)  # fmt: skip
_EMPTY: dict[str, Document] = {
    "alignment": {"method": None, "residual_ns": None, "offsets": []},
    "collectives": {"matched_frac": None, "groups": []},
    "stragglers": {"total": 0, "shown": 0, "items": []},
    "walk": {"steps": [], "step_ns": None, "items": []},
    "pipeline": {},
}


@dataclass(frozen=True)
class Files:
    """Where the documents of lanes come from and go to; ``read`` gives a lane's own document."""

    store: Path
    read: Callable[[Lane], Stored]
    write: Callable[[Lane, str], None]


def analyse_job(
    files: Files, lanes: Sequence[Lane], table: RankTable, made: Record, settings: Settings
) -> Document:
    """Write the documents of ``lanes``, each with its share of the job; return ``result.json``.

    Documents are read one at a time: the job never holds all of them whole.
    """
    reason = _not_one_job(lanes, table)
    if reason is None:
        try:
            light, sections, found = _across(files, lanes, table, settings)
        except Exception as error:  # noqa: BLE001 - a fault across ranks must not cost the lanes
            interrupt.again()
            reason = {"status": "error", "reason": f"{type(error).__name__}: {error}"}
    if reason is not None:
        light = [_pass_on(files, lane) for lane in lanes]
        sections = {name: reason | empty for name, empty in _EMPTY.items()}
        found = job_findings(light, None)
    return {
        "schema": SCHEMA,
        "tool": {"version": __version__},
        "run": _run(light, table, made, settings),
        "ranks": [_rank(document) for document in light],
        **sections,
        "categories": _categories(light, found),
        "mfu": job_section(
            light, settings.model, settings.gpu, table.ranks_expected, table.several_jobs
        ),
        "findings": found,
    }


def _run(light: Sequence[Document], table: RankTable, made: Record, settings: Settings) -> Document:
    return {
        "name": made.name,
        "inputs": [state.document() for state in made.states],
        "notes": [
            *made.notes,
            *table.notes,
            *unfit(light, settings),
            *failed(light),
            *([] if table.several_jobs else disagreements(light)),
        ],
        "ranks_expected": table.ranks_expected,
        "ranks_usable": _usable(light),
        "missing_ranks": table.missing_ranks,
        "conflicts": list(table.conflicts),
        "several_jobs": table.several_jobs,
    }


def _not_one_job(lanes: Sequence[Lane], table: RankTable) -> Document | None:
    if table.several_jobs:
        reason = f"several jobs in one folder: {table.several_jobs}"
        return {"status": "withheld", "reason": reason}
    if len(lanes) == 1:
        return {"status": "not_applicable", "reason": "one lane"}
    if len(_unclaimed(lanes, table)) < 2:  # noqa: PLR2004 - nothing lies across one lane
        return {"status": "withheld", "reason": "every rank but one is claimed by several lanes"}
    return None


def _unclaimed(lanes: Sequence[Lane], table: RankTable) -> list[Lane]:
    """Lanes that no other disputes the rank of."""
    disputed = {label for conflict in table.conflicts for label in conflict["labels"]}
    return [lane for lane in lanes if lane.label not in disputed]


def _pass_on(files: Files, lane: Lane) -> Document:
    document = files.read(lane)
    files.write(lane, document.text())
    return _lighter(document)


def _lighter(document: Stored) -> Document:
    return {name: document[name] for name in _LIGHT} | {"failed": document.failed()}


def _across(
    files: Files, lanes: Sequence[Lane], table: RankTable, settings: Settings
) -> tuple[list[Document], dict[str, Document], list[Document]]:
    mine = _unclaimed(lanes, table)
    traces = list(dict.fromkeys(lane.trace for lane in mine))
    captures = [_capture(files.store / trace) for trace in traces]
    job_lanes, shown = [], []
    for lane in mine:
        document = files.read(lane)
        folder = lane_folder(files.store, lane)
        job_lanes.append(job_lane(document, traces.index(lane.trace), folder))
        shown.append(document["lane"])
    files_of = {job.trace: lane["file"] for job, lane in zip(job_lanes, shown, strict=True)}
    clocks = [_clock(capture, files_of[k]) for k, capture in enumerate(captures)]
    layout, misfit = layout_of(settings.job, table.ranks_expected or len(lanes))
    found = study(job_lanes, clocks, missing=bool(table.missing_ranks), layout=layout)
    moved = transfers(found)
    place = {lane.label: k for k, lane in enumerate(mine)}
    light = []
    for lane in lanes:
        document = files.read(lane)
        if lane.label in place:
            world = (captures[traces.index(lane.trace)].get("rank_evidence") or {}).get(
                "world_size"
            )
            at = place[lane.label]
            compose(document, lane_share(found, at, moved), settings, world, lane.captured)
            if split_timeline(document["timeline"], found, at):
                document.replace("timeline")
        files.write(lane, document.text())
        light.append(_lighter(document))
    judged = across(found, clocks, moved, _missing(table))
    judged.sections["collectives"]["layout"] = misfit
    sections = judged.sections | {"pipeline": _pipeline(found, light, place)}
    return light, sections, job_findings(light, sections)


def _pipeline(found: Study, light: Sequence[Document], place: dict[str, int]) -> Document:
    mine = [document for document in light if document["lane"]["label"] in place]
    return bubble.section(found, mine)


def _capture(trace: Path) -> Document:
    content: Document = json.loads((trace / "capture.json").read_text(encoding="utf-8"))
    return content


def _clock(capture: Document, file: str) -> Capture:
    first, last = capture.get("start_ns"), capture.get("end_ns")
    span = last - first if first is not None and last is not None else 0
    return Capture(file, capture.get("utc_start_ns"), span, tuple(capture.get("nic_links") or ()))


def _missing(table: RankTable) -> str | None:
    if not table.missing_ranks:
        return None
    count = len(table.missing_ranks)
    of = f" of {table.ranks_expected}" if table.ranks_expected else ""
    ranks, are = "ranks" if of or count > 1 else "rank", "are" if count > 1 else "is"
    return f"{count}{of} {ranks} {are} not in this report: who comes last may be one of them"


def _usable(documents: Sequence[Document]) -> int:
    """Count each known rank once, and every lane whose rank is unknown."""
    ranks = [document["lane"]["rank"] for document in documents]
    return len({rank for rank in ranks if rank is not None}) + ranks.count(None)


def _rank(document: Document) -> Document:
    lane, steps = document["lane"], document["steps"]
    label = lane["label"]
    findings = document["findings"]
    names = ("label", "rank", "rank_source", "file", "host", "pid", "device")
    return {name: lane[name] for name in names} | {
        "gpu_name": lane["gpu"]["name"] if lane["gpu"] else None,
        "page": f"rank-{label}.html",
        "result": f"rank-{label}.json",
        "steps_kept": steps["kept"],
        "steps_source": steps["source"],
        "chosen": steps.get("chosen", False),
        "period_ns": steps["period_ns"],
        "step_ns": _bins([i["end_ns"] - i["start_ns"] for i in steps["items"] if i["kept"]]),
        "buckets": document["buckets"],
        "causes": document["causes"],
        "mfu": document["mfu"]["mfu"],
        # What could not be looked at is no finding.
        "top_finding": next(
            (row["title"] for row in findings if row["status"] in ("opportunity", "info")), None
        ),
    }


def _bins(lengths: list[int]) -> list[int]:
    """Return step times, or the medians of equal runs of steps once there are more than fit."""
    if len(lengths) <= MOST_BINS:
        return lengths
    edges = [i * len(lengths) // MOST_BINS for i in range(MOST_BINS + 1)]
    return [median_ns(lengths[a:b]) or 0 for a, b in pairwise(edges)]


def _categories(documents: Sequence[Document], found: Sequence[Document]) -> Document:
    """Sum the categories over the lanes: shares of all their kept time."""
    totals = [sum(d["categories"][name]["ns"] for d in documents) for name in CATEGORIES]
    cards: dict[str, str] = {}
    for finding in found:
        if finding["status"] == "opportunity":
            cards.setdefault(finding["category"], finding["id"])
    return {
        name: {"ns": ns, "frac": share, "finding": cards.get(name)}
        for name, ns, share in zip(CATEGORIES, totals, fracs(totals), strict=True)
    }
