"""The cross-rank sections of the result document, or why they are withheld."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nsysflow.job.clocks import Capture
from nsysflow.job.communicators import groups
from nsysflow.job.gain import replayed
from nsysflow.job.lanes import Ints
from nsysflow.job.steps import Common, common_steps, runs
from nsysflow.job.stragglers import (
    LEAST_STEPS,
    Suspect,
    Tally,
    lateness,
    least_ns,
    suspects,
    tallies_of,
)
from nsysflow.job.study import MATCHED, Study
from nsysflow.job.walk import Walk, walk
from nsysflow.job.why import why
from nsysflow.model import COMMUNICATOR_KINDS
from nsysflow.shares import frac, mean_ns

Section = dict[str, Any]
LIST_ROWS = 200
MOST_COLUMNS = 64
NOTHING = "no collectives that run on several ranks were recorded in the kept steps"


@dataclass(frozen=True)
class Across:
    """What is said across ranks. ``walk_found`` None where nothing could be walked."""

    sections: dict[str, Section]
    common: Common
    walk_found: Walk | None
    late: tuple[Suspect, ...]


def across(study: Study, captures: Sequence[Capture], moved: Ints, missing: str | None) -> Across:
    """Judge the study; ``missing`` says which ranks of the job are not here."""
    common = common_steps(study.lanes)
    reason = _untrusted(study)
    walked = _unwalkable(study, common, reason, missing)
    found = None if walked else walk(study, runs(common))
    unknown = walked or _unclear(study, common)
    tallies = [] if unknown else tallies_of(study, common)
    late = [] if unknown else replayed(study, common, suspects(study, common, tallies))
    unknown = unknown or _unjudged(common, tallies, late)
    sections = {
        "alignment": _alignment(study, captures),
        "collectives": _collectives(study, captures, moved, reason),
        "stragglers": _withheld(unknown, total=0, shown=0, items=[])
        if unknown
        else _stragglers(study, common, late) | {"late": _late(study, common, tallies)},
        "walk": _withheld(walked, steps=[], step_ns=None, items=[])
        if found is None
        else _walk(study, found),
    }
    return Across(sections, common, found, tuple(late))


def _withheld(reason: str | None, **empty: object) -> Section:
    return {"status": "withheld", "reason": reason, **empty}


def _untrusted(study: Study) -> str | None:
    matched, whole = study.matched
    if study.doubt:
        return study.doubt
    if not whole or matched >= MATCHED * whole:
        return None
    if study.apart:
        return study.apart
    share = 100 * matched / whole
    return f"matched {share:.0f} % of the collectives, less than {100 * MATCHED:.0f} %"


def _unwalkable(
    study: Study, common: Common, untrusted: str | None, missing: str | None
) -> str | None:
    aligned = study.clocks.status in ("same_clock", "aligned")
    reasons = (
        (not study.matched[1], NOTHING),
        (untrusted is not None, untrusted),
        (missing is not None, missing),
        (not aligned, study.clocks.reason or "the clocks of the files are not aligned"),
        (
            len(np.unique(study.clocks.part)) > 1,
            "the ranks form groups without a common collective",
        ),
        (not common.numbers, study.apart or "no step was kept on every rank"),
        (not study.waits.complete.any(), "no communicator has all its members in this report"),
    )
    return next((reason for applies, reason in reasons if applies), None)


def _unclear(study: Study, common: Common) -> str | None:
    """Clocks that hide a hundredth of a step hide stragglers; balanced ranks hide nothing."""
    sigma = study.clocks.sigma_ns or 0
    if study.waits.by_arrival or study.waits.floor_ns <= least_ns(study, common) - 1:
        return None
    return f"the clocks agree to {sigma} ns only: too little to tell who came last"


def _unjudged(common: Common, tallies: Sequence[Tally], late: Sequence[Suspect]) -> str | None:
    """Say why nobody being suspected does not mean that nobody is late."""
    if not tallies:
        return "no ranks of a communicator do the same work: there is nobody to compare a rank with"
    steps = len(common.numbers)
    if late or steps >= LEAST_STEPS:
        return None
    what = "step that all ranks kept is" if steps == 1 else "steps that all ranks kept are"
    return f"{steps} {what} too few to tell who is late"


def _alignment(study: Study, captures: Sequence[Capture]) -> Section:
    clocks = study.clocks
    # Clocks were fitted to the matches: they stand and fall with those.
    told = clocks.status != "not_aligned" and study.doubt is None
    section: Section = {
        "status": clocks.status if told else "not_aligned",
        "method": clocks.method or None if told else None,
        "residual_ns": clocks.sigma_ns if told else None,
        "p95_ns": clocks.p95_ns if told and clocks.sigma_ns is not None else None,
        "samples": clocks.samples,
        "offsets": [
            {
                "file": capture.file,
                "offset_ns": int(clocks.offset[k]) if told else None,
                "drift_ppb": round(clocks.slope[k] * 1e9) if clocks.slope[k] else None,
                "drift_from_ns": int(clocks.middle[k]) if clocks.slope[k] else None,
            }
            for k, capture in enumerate(captures)
        ],
    }
    return section if told else section | {"reason": study.doubt or clocks.reason}


def _collectives(
    study: Study, captures: Sequence[Capture], moved: Ints, untrusted: str | None
) -> Section:
    matched, whole = study.matched
    if not whole:
        return {"status": "not_applicable", "reason": NOTHING, "matched_frac": None, "groups": []}
    share = frac(matched, whole)
    if untrusted:
        return _withheld(untrusted, matched_frac=share, groups=[])
    how = "arrivals" if study.waits.by_arrival else "durations"
    return {
        "status": "ok",
        "matched_frac": share,
        "split_by": how,
        "groups": groups(study, captures, moved)[:LIST_ROWS],
    }


def _stragglers(study: Study, common: Common, late: Sequence[Suspect]) -> Section:
    items = []
    for each in late[:LIST_ROWS]:
        cause, evidence = why(study, common, each)
        lane = study.lanes[each.lane]
        items.append(
            {
                "label": lane.label,
                "rank": lane.rank,
                "verdict": each.verdict,
                "last_frac": frac(*each.last_frac) or 0.0,
                "median_late_ns": each.median_late_ns,
                "gain_bound_ns_per_step": each.gain_ns,
                "cause": cause,
                "evidence": [_where(study, common, each), *evidence],
            }
        )
    return {"status": "ok", "total": len(late), "shown": len(items), "items": items}


def _late(study: Study, common: Common, tallies: list[Tally]) -> Section:
    """Return how late each rank came last in each step, or in runs of steps the most."""
    count = len(common.numbers)
    columns = min(count, MOST_COLUMNS)
    edges = [k * count // columns for k in range(columns)] if columns else []
    rows = [
        {
            "label": study.lanes[lane].label,
            "ns": np.maximum.reduceat(gap, edges).tolist() if edges else [],
        }
        for lane, gap in lateness(study, tallies).items()
    ]
    return {"steps": [common.numbers[edge] for edge in edges], "rows": rows}


def _where(study: Study, common: Common, each: Suspect) -> str:
    group = study.found.groups[each.group]
    name = group.name or "a communicator without an id"
    kind = study.kind[each.group]
    return (
        f"last in {len(each.steps)} of {len(common.numbers)} steps among the "
        f"{len(group.lanes)} ranks of {name} ({COMMUNICATOR_KINDS.get(kind, kind)})"
    )


def _walk(study: Study, found: Walk) -> Section:
    steps = len(found.numbers)
    step_ns = mean_ns(found.total_ns, steps) or 0
    keys = sorted(found.charge, key=lambda key: (key[0], key[1], key[2] or ""))
    per_step = _share_out([found.charge[key] for key in keys], step_ns)
    items = [
        {"label": study.lanes[lane].label, "bucket": bucket, "cause": cause, "ns": ns}
        for (lane, bucket, cause), ns in zip(keys, per_step, strict=True)
        if ns
    ]
    return {"status": "ok", "steps": list(found.numbers), "step_ns": step_ns, "items": items}


def _share_out(parts: Sequence[int], whole: int) -> list[int]:
    """Scale parts down so that they sum to ``whole`` exactly, by largest remainder."""
    total = sum(parts)
    if not total:
        return [0] * len(parts)
    floors = [part * whole // total for part in parts]
    order = sorted(range(len(parts)), key=lambda k: (-(parts[k] * whole % total), k))
    for k in order[: whole - sum(floors)]:
        floors[k] += 1
    return floors
