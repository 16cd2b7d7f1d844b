"""Everything the template of the job page needs, from the result document."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.render import (
    bars,
    findings,
    heat,
    job_comm,
    job_ranks,
    job_sections,
    questions,
    sections,
    units,
    verdict,
)
from nsysflow.render.bars import Part
from nsysflow.render.limits import Limits
from nsysflow.render.rank_page import Figure, bounds_figure, first_action, mfu_figure
from nsysflow.render.sections import Document, State, section, state
from nsysflow.render.words import BUCKET, cause

# What is no thing to name in a sentence.
_NO_CAUSE = {
    "idle_unattributed": "idle time without a known cause",
    "queued_unexplained": "queued work that did not begin, its cause not known",
    "wait_unresolved": "waiting whose cause is not known",
}


def context(result: Document, documents: Sequence[Document], limits: Limits) -> dict[str, Any]:
    """Return the variables of ``index.html``.

    Ranks whose captures hold no kernels are listed, and count in nothing that is said of all.
    """
    ranks = result["ranks"]
    blind = {one["lane"]["label"] for one in documents if "lane" in one and verdict.is_blind(one)}
    seen = [rank for rank in ranks if rank["label"] not in blind]
    walk, whole = section(result, "walk"), sum(rank["buckets"]["window_ns"] for rank in ranks)
    period, unit = _period(result, seen), _unit(result, documents)
    cards = findings.cards({**result, "buckets": _sum_buckets(seen)}, "", unit)
    late = section(result, "stragglers").get("late")
    picture = heat.lateness(late, period, _names(ranks)) if late else None
    what, no_picture = "Lateness by rank and step", ""
    if picture is None:
        picture, no_picture = heat.step_times(
            ranks, [job_ranks.name(rank) for rank in ranks], walk.get("steps") or ()
        )
        what = "Step time by rank and step"
    return {
        "document": result,
        "run": units.clean(str(result["run"]["name"])),
        "timeline": None,
        "masked": result.get("masked"),
        "eyebrow": _eyebrow(result, unit),
        "verdict": _verdict(result, seen, unit),
        "first": first_action(cards),
        "worst": job_ranks.worst(seen),
        "least": job_ranks.most_losing(seen),
        "cards": cards,
        "asked": bool(result["findings"] or result.get("categories")),
        "questions": questions.with_unsplit(
            questions.but_not_asked(questions.questions(result, cards), result),
            [rank["causes"] for rank in ranks],
            whole,
        ),
        "asked_note": _asked_note(result, unit),
        "rank_legend": [(word.css, word.label.lower()) for word in BUCKET.values()],
        "missing": [
            *job_sections.failed(result, documents, _names(ranks)),
            *job_sections.missing(result),
        ],
        "figures": _figures(result, seen, period, unit),
        "period_ns": period,
        "unit": unit,
        "bar": _bar(seen),
        "walk_state": state(walk),
        "walk": job_sections.walk(walk, _names(ranks), unit=unit, numbered=_numbered(documents))
        if not state(walk)
        else None,
        "stragglers_state": state(section(result, "stragglers")),
        "stragglers": job_sections.stragglers(section(result, "stragglers"), period),
        "heat": picture,
        "heat_title": what,
        "pipeline": job_comm.pipeline(result.get("pipeline"), _names(ranks)),
        "heat_state": State("not drawn", no_picture),
        **job_ranks.context(ranks, result, limits, unit),
        "communicators_state": state(section(result, "collectives")),
        "communicators": job_comm.communicators(
            section(result, "collectives"), limits.rows, _names(ranks)
        ),
        "clocks": job_comm.clocks(section(result, "alignment"), limits.rows),
        "alignment": section(result, "alignment"),
        "inputs": job_sections.inputs(result, limits.rows),
        "captures": job_sections.captures(documents),
        "conflicts": job_sections.conflicts(result),
    }


def _names(ranks: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    return {rank["label"]: job_ranks.name(rank) for rank in ranks}


def _period(result: Document, seen: Sequence[Mapping[str, Any]]) -> int:
    walk = section(result, "walk")
    if not state(walk):
        return int(walk["step_ns"])
    periods = [rank["period_ns"] for rank in seen or result["ranks"] if rank["period_ns"]]
    return round(statistics.median(periods)) if periods else 0


def _sum_buckets(ranks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    keys = ("window_ns", *BUCKET)
    return {key: sum(rank["buckets"][key] for rank in ranks) for key in keys}


def _eyebrow(result: Document, unit: str) -> list[str]:
    ranks, run = result["ranks"], result["run"]
    hosts = {rank["host"] for rank in ranks if rank["host"]}
    gpus = {rank["gpu_name"] or "GPU model not recorded" for rank in ranks}
    expected = run["ranks_expected"]
    lanes = units.some(len(ranks), "rank") + (f" of {units.count(expected)}" if expected else "")
    parts = [
        str(run["name"]),
        lanes,
        units.some(len(hosts), "host") if hosts else "hosts not recorded",
    ]
    parts.append(", ".join(sorted(gpus)[:3]) if gpus else "no GPU")
    steps = sorted({rank["steps_kept"] for rank in ranks})
    if steps:
        kept = f"{steps[0]}–{steps[-1]} steps" if len(steps) > 1 else units.some(steps[0], "step")
        parts.append(f"{kept} kept per rank" if unit == "step" else sections.SEVERAL[unit])
    return [units.clean(part) for part in parts]


def _verdict(result: Document, seen: Sequence[Mapping[str, Any]], unit: str) -> str:
    unsaid = _no_verdict(result, seen)
    if unsaid is not None:
        return unsaid
    walk = section(result, "walk")
    if not state(walk) and walk["items"]:
        said = _walk_verdict(walk, _elsewhere(result))
        return said if unit == "step" else f"{said} {verdict.UNSTEPPED[unit]}"
    said = verdict.losses(_sum_buckets(seen), sections.EACH[unit])
    if len(seen) == 1:
        return said
    return f"Over {len(seen)} ranks: {verdict.inside(said)}"


def _no_verdict(result: Document, seen: Sequence[Mapping[str, Any]]) -> str | None:
    """Return why nothing can be said of the ranks together, None if it can."""
    if not result["ranks"]:
        return "No input holds GPU work that could be analysed."
    failed = verdict.failed_check(section(result, "mfu"))
    if failed:
        return f"The numbers below don’t fit together: {failed}"
    if result["run"]["several_jobs"]:
        return "This folder holds several jobs; each rank page stands on its own."
    return None if seen else verdict.NO_KERNELS


def _asked_note(result: Document, unit: str) -> str:
    """Say over what the shares of the questions are; the walk counts otherwise."""
    if len(result["ranks"]) < 2:  # noqa: PLR2004 - one rank is all ranks
        return ""
    walked = "; the walk counts only the rank that holds the others up"
    return f"Of {unit}: all ranks added{'' if state(section(result, 'walk')) else walked}."


def _unit(result: Document, documents: Sequence[Document]) -> str:
    """Return the word for a window: the ranks' own documents say it, else several are steps."""
    found = {sections.unit(section(one, "steps")) for one in documents}
    if not documents:
        found = {"step" if all(rank["steps_kept"] > 1 for rank in result["ranks"]) else "capture"}
    return next(word for word in sections.EACH if word in found)


def _numbered(documents: Sequence[Document]) -> bool:
    """Whether the traces number their steps; without the ranks' documents they are taken to."""
    items = [item for one in documents for item in section(one, "steps").get("items") or ()]
    return not items or any(item.get("number") is not None for item in items)


def _elsewhere(result: Document) -> tuple[float, str] | None:
    """Return the largest loss that the walk holds under other names: a late rank's, the bubble's.

    The walk goes to whom the others wait for, so waiting is none of its causes.
    """
    found = [loss for loss in (_straggler(result), _bubble(result)) if loss]
    largest = max(found, default=None)
    return largest if largest and largest[0] >= verdict.WORTH_NAMING else None


def _straggler(result: Document) -> tuple[float, str] | None:
    """Say what one late rank costs."""
    found = section(result, "stragglers")
    rows = () if state(found) else found["items"]
    late = [row for row in rows if row["verdict"] == "straggler" and row["gain_bound_ns_per_step"]]
    if not late:
        return None
    worst = max(late, key=lambda row: row["gain_bound_ns_per_step"])
    gain = units.ratio(worst["gain_bound_ns_per_step"], section(result, "walk")["step_ns"])
    who = worst["label"] if worst["rank"] is None else f"rank\u00a0{worst['rank']}"
    return gain, f"{who} makes the others wait, at most {units.share(gain)} of the step."


def _bubble(result: Document) -> tuple[float, str] | None:
    """Say what the schedule of the pipeline costs."""
    cards = (f for f in result["findings"] if f["id"] == "pipeline_schedule")
    card = next((f for f in cards if f["status"] == "opportunity"), None)
    if card is None or card["bound_frac"] is None:
        return None
    share = units.share(card["bound_frac"])
    return card["bound_frac"], f"pipeline stages wait for each other, at most {share} of the step."


def _walk_verdict(walk: Mapping[str, Any], elsewhere: tuple[float, str] | None) -> str:
    sums: dict[tuple[str, str], int] = {}
    for item in walk["items"]:
        key = (item["bucket"], item["cause"] or item["bucket"])
        sums[key] = sums.get(key, 0) + item["ns"]
    total = walk["step_ns"]
    computes = sum(
        ns for (bucket, _), ns in sums.items() if bucket in ("compute_only", "compute_comm_overlap")
    )
    losses = sorted(
        (
            (ns, name)
            for (bucket, name), ns in sums.items()
            if bucket not in ("compute_only", "compute_comm_overlap")
        ),
        reverse=True,
    )
    said = f"The job computes for {units.share(units.ratio(computes, total))} of its critical path"
    largest = units.ratio(losses[0][0], total) if losses else 0.0
    # The finding on top must not be larger than what is called the largest here.
    if elsewhere and elsewhere[0] > largest:
        return f"{said}; {elsewhere[1]}"
    if largest < verdict.WORTH_NAMING:
        return f"{said}; no single loss exceeds 5{units.NARROW}%."
    share = units.share(largest)
    name = losses[0][1]
    return f"{said}; the largest loss is {_NO_CAUSE.get(name) or cause(name).short}, {share}."


def _figures(
    result: Document, seen: Sequence[Mapping[str, Any]], period: int, word: str
) -> list[Figure]:
    run = result["run"]
    periods = [rank["period_ns"] for rank in seen if rank["period_ns"]]
    spread = units.spread(min(periods), max(periods)) if periods else ""
    number, _, unit = units.duration(period).rpartition(units.NARROW)
    usable = run["ranks_usable"]
    of = f"of {units.count(run['ranks_expected'])}" if run["ranks_expected"] else ""
    failed = sum(row["status"] != "ok" for row in run["inputs"])
    second = (
        [f"{units.count(failed)} of {units.some(len(run['inputs']), 'input')} not usable"]
        if failed
        else [f"{units.some(len(run['inputs']), 'input')}, all usable"]
    )
    if run["missing_ranks"]:
        second.append(f"{units.some(len(run['missing_ranks']), 'rank')} missing")
    what = sections.WHOLE.get(word, "average step")
    if not state(section(result, "walk")):
        what = f"length of the walk; {what} of a rank"
    elif len(periods) > 1:
        what = f"median over ranks of the {what}"
    return [
        Figure(
            "Job step" if word == "step" else word.capitalize(),
            number or "0",
            unit,
            f"{what}{': ' if len(periods) > 1 else ' of one rank; '}{spread}",
            "step",
        ),
        mfu_figure(section(result, "mfu")),
        Figure("Ranks usable", units.count(usable), of, "; ".join(second)),
        bounds_figure(result, period, word),
        _matched(section(result, "collectives")),
    ]


def _matched(found: Mapping[str, Any]) -> Figure:
    why = state(found)
    if why or found["matched_frac"] is None:
        why = why or State("not applicable", "no collectives")
        return Figure("Collectives matched", "", "", why.reason, None, why)
    number, _, unit = units.share(found["matched_frac"]).rpartition(units.NARROW)
    instances = sum(group["instances"] for group in found["groups"])
    return Figure(
        "Collectives matched",
        number,
        unit,
        f"n {units.count(instances)} in {units.some(len(found['groups']), 'communicator')}",
    )


def _bar(ranks: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return the bar over all ranks: all kept windows added, amounts per step of a rank."""
    if not ranks:
        return None
    buckets = _sum_buckets(ranks)
    parts = [Part(BUCKET[name], buckets[name]) for name in BUCKET]
    total, n = buckets["window_ns"], sum(rank["steps_kept"] for rank in ranks) or 1
    return {
        "segments": bars.stack(parts, total, n=n),
        "spoken": bars.spoken(parts, total),
        "legend": bars.legend(parts, total, n=n),
        "period_ns": round(total / n),
        "n": units.some(n, "window"),
        "ranks": units.some(len(ranks), "rank"),
    }
