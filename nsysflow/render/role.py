"""What a rank is to the others of its job: who keeps them waiting, or whom it waits for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nsysflow.render import units
from nsysflow.render.job_sections import LATE_CAUSE
from nsysflow.render.sections import Document, Window, items, section, state
from nsysflow.render.verdict import WORTH_NAMING

_WAIT = ("wait_gated", "wait_host_late")
_MOST_NAMED = 4


@dataclass(frozen=True)
class Role:
    """One line above the numbers of a rank, with the place on the job's page that says more."""

    lead: str
    text: str
    href: str
    link: str
    late: bool = False


def brief(result: Document) -> dict[str, Any]:
    """Keep of a result document what a rank's page reads; each of a thousand pages gets it."""
    found, walk = section(result, "stragglers"), section(result, "walk")
    told = ("status", "reason")
    kept = {
        "stragglers": {key: value for key, value in found.items() if key != "late"},
        "walk": {key: walk[key] for key in (*told, "step_ns") if key in walk},
    }
    # An older result has no section on the pipeline; that says nothing of one.
    if "pipeline" in result:
        stages = section(result, "pipeline")
        kept["pipeline"] = {key: stages[key] for key in told if key in stages}
    return kept


def role(document: Document, job: Document | None, over: Window) -> Role | None:
    """Return what the job's page says about this rank, None where that is nothing notable."""
    found = section(job, "stragglers") if job else {"status": "not_applicable", "reason": ""}
    if state(found):
        return None
    late = [row for row in items(found) if row["verdict"] == "straggler"]
    mine = next((row for row in late if row["label"] == document["lane"]["label"]), None)
    if mine and job:
        return _late(mine, section(job, "walk"))
    parts = document["causes"].get("exposed_comm") or {}
    waits = sum(parts.get(name) or 0 for name in _WAIT)
    if units.ratio(waits, over.ns) < WORTH_NAMING:
        return None
    share = units.share(units.ratio(waits, over.ns))
    text = (
        f"{units.duration(round(waits / over.n))} of {over.each} ({share}). {_last(items(found))}"
    )
    link = "Who comes last, and why"
    return Role("This rank waits for others:", text, "index.html#stragglers", link)


def _last(rows: Sequence[Mapping[str, Any]]) -> str:
    """Say who comes last, as far as that is known."""
    late = [row for row in rows if row["verdict"] == "straggler"]
    maybe = [row for row in rows if row["verdict"] == "cannot_tell"]
    if late:
        return f"In most steps {_names(late)} {'comes' if len(late) == 1 else 'come'} last."
    if maybe:
        return f"{units.sentence(_names(maybe))} came last, in too few steps to rule out chance."
    return "No rank comes last in most steps." if rows else "No straggler was found."


def _names(rows: Sequence[Mapping[str, Any]]) -> str:
    more = f" and {len(rows) - _MOST_NAMED} more" if len(rows) > _MOST_NAMED else ""
    return ", ".join(_name(row) for row in rows[:_MOST_NAMED]) + more


def _late(row: Mapping[str, Any], walk: Mapping[str, Any]) -> Role:
    why = LATE_CAUSE.get(row["cause"]) or "the cause is not known"
    gain = row["gain_bound_ns_per_step"]
    # The first line of the evidence says in how many steps, and among whom.
    seen = next(iter(row["evidence"]), f"last in {units.share(row['last_frac'])} of steps")
    text = f"{why}; {units.clean(seen)}."
    if gain:
        share = "" if state(walk) else f" ({units.share(units.ratio(gain, walk['step_ns']))})"
        text += f" Mending it saves at most {units.duration(gain)} of the job’s step{share}."
    return Role(
        "This rank makes the others wait:",
        text,
        f"index.html#{units.anchor('s', str(row['label']))}",
        "Evidence",
        late=True,
    )


def _name(row: Mapping[str, Any]) -> str:
    return units.clean(str(row["label"])) if row["rank"] is None else f"rank\u00a0{row['rank']}"
