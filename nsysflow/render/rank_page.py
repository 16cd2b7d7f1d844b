"""Everything the template of a rank page needs, from one rank document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nsysflow.analyses import ANALYSES
from nsysflow.render import (
    bars,
    capture,
    findings,
    questions,
    rank_efficiency,
    rank_host,
    rank_kernels,
    rank_step,
    role,
    timeline,
    units,
    verdict,
)
from nsysflow.render.bars import Part
from nsysflow.render.limits import Limits
from nsysflow.render.mfu import rate
from nsysflow.render.sections import Document, State, Window, parts_of, section, state, window
from nsysflow.render.tables import Table
from nsysflow.render.words import BUCKET

_UNCLASSIFIED = 5


@dataclass(frozen=True)
class Figure:
    """One of the five figures: number, unit, and a second line with n, window or convention."""

    label: str
    number: str
    unit: str
    second: str
    term: str | None = None
    state: State | None = None


@dataclass(frozen=True)
class Block:
    """A table, or the state and reason of a section without one."""

    title: str
    table: Table | None
    state: State | None


def context(document: Document, limits: Limits, job: Document | None = None) -> dict[str, Any]:
    """Return the variables of ``rank.html``; ``job`` says what this rank is to the others."""
    over = window(document)
    tables = _tables(document, over, limits.rows)
    drawn = {
        block.table.id for block in tables["blocks"].values() if block.table and block.table.rows
    }
    cards = findings.cards(document, over.which, over.unit, frozenset({"t-causes", *drawn}))
    named, total = parts_of(document)
    bucket_parts = [Part(BUCKET[name], ns) for name, ns in named]
    picture = timeline.picture(document, limits.marks)
    mine = role.role(document, job, over)
    return {
        "document": document,
        "window": over,
        "unit": over.unit,
        "title": lane_title(document),
        "label": units.clean(str(document["lane"]["label"])),
        "eyebrow": _eyebrow(document, over),
        "verdict": verdict.sentence(document, over),
        "role": mine,
        "warnings": capture.warnings(document),
        "first": first_action(cards),
        "told": findings.told(document["findings"]),
        "figures": _figures(document, over),
        "bar": bars.stack(bucket_parts, total, n=over.n),
        "bar_legend": bars.legend(bucket_parts, total, n=over.n),
        "bar_spoken": bars.spoken(bucket_parts, total),
        "cards": cards,
        "losses": rank_step.losses(document, over),
        "questions": _questions(document, cards, mine, job),
        # The job's page is surer of the same finding: there the ranks agree.
        "walked": bool(job and not state(section(job, "walk"))),
        "analyses": ANALYSES,
        "timeline": picture,
        "timeline_state": state(section(document, "timeline"))
        or (None if picture else State("not applicable", "no step is shown")),
        **rank_step.context(document, over),
        **tables,
        **capture.context(document, over),
    }


def _questions(
    document: Document,
    cards: list[findings.Card],
    mine: role.Role | None,
    job: Document | None,
) -> list[questions.Question]:
    """Return the questions of the lane; that it keeps others waiting only the job can tell."""
    rows = questions.with_unsplit(
        questions.but_not_asked(questions.questions(document, cards), job),
        [document["causes"]],
        document["buckets"]["window_ns"],
    )
    if not (mine and mine.late):
        return rows
    title = findings.word("stragglers").label
    told = "This rank makes the others wait, see above. Its own waiting: "
    return [replace(q, text=told + q.text) if q.title == title else q for q in rows]


def lane_title(document: Document) -> str:
    """Name a lane: ``rank 3``, ``rank 3, GPU 1`` or its label."""
    lane = document["lane"]
    if lane["rank"] is None:
        return units.clean(str(lane["label"]))
    more = f", GPU {lane['device']}" if "-gpu" in str(lane["label"]) else ""
    return f"rank {lane['rank']}{more}"


def _eyebrow(document: Document, over: Window) -> list[str]:
    lane, steps, taken = document["lane"], section(document, "steps"), document["capture"]
    gpu = lane["gpu"] or {}
    title = lane_title(document)
    parts = [
        title if lane["rank"] is None else f"R{title[1:]}",
        f"{lane['host'] or 'host not recorded'}, GPU {lane['device']}",
        gpu.get("name") or "GPU model not recorded",
    ]
    if over.unit == "step":
        kept, of = units.count(over.n), units.count(len(steps["items"]))
        parts.append(f"{over.which}, {kept} of {of} kept")
    else:
        parts.append(over.which)
    when = taken.get("utc_start_ns")
    parts.append(
        f"captured {units.utc(int(when))}" if when is not None else "capture time not recorded"
    )
    return [units.clean(str(part)) for part in parts]


def first_action(cards: list[findings.Card]) -> findings.Card | None:
    """Return the card to act on first: the largest bound that names a fix."""
    return next((card for card in cards if card.fix), None)


def _figures(document: Document, over: Window) -> list[Figure]:
    buckets = document["buckets"]
    computes = buckets["compute_only"] + buckets["compute_comm_overlap"]
    hidden = buckets["compute_comm_overlap"]
    graph = units.share(units.ratio(buckets["graph_opaque"], buckets["window_ns"]))
    opaque = (
        f"; up to {graph} more in graphs that were not split" if buckets["graph_opaque"] else ""
    )
    return [
        _step_figure(document, over),
        mfu_figure(section(document, "mfu")),
        _figure(
            "GPU computes",
            units.share(units.ratio(computes, buckets["window_ns"])),
            f"{units.duration(round(computes / over.n))} of {over.each}; "
            f"{units.duration(round(hidden / over.n))} of it hides communication{opaque}",
        ),
        bounds_figure(document, over.period_ns, over.unit),
        _explained(document, over),
    ]


def _figure(label: str, text: str, second: str, term: str | None = None) -> Figure:
    number, _, unit = text.rpartition(units.NARROW) if units.NARROW in text else (text, "", "")
    return Figure(label, number, unit, second, term)


def _step_figure(document: Document, over: Window) -> Figure:
    steps = section(document, "steps")
    if over.unit != "step":
        second = (
            "first to last device work; no steps found"
            if over.unit == "capture"
            else "chosen by --from and --to; no whole step in it"
        )
        return _figure(over.unit.capitalize(), units.duration(over.ns), second, "step")
    kept = [item["end_ns"] - item["start_ns"] for item in steps["items"] if item["kept"]]
    median = steps["median_ns"] if steps["median_ns"] is not None else over.period_ns
    spread = units.spread(min(kept or [median]), max(kept or [median]))
    second = f"median, n {units.count(over.n)}; {spread}"
    return _figure("Step time", units.duration(median), second, "step")


def mfu_figure(mfu: Mapping[str, Any]) -> Figure:
    """Return MFU with its convention, or why there is none."""
    why = state(mfu)
    if why is None and mfu["mfu"] is None:
        why = State("not applicable", "no peak known for this GPU and dtype")
    if why:
        second = [part for part in (why.reason, rate(mfu)) if part]
        return Figure("MFU", "", "", "; ".join(second), "mfu", why)
    second = [part for part in (units.clean(str(mfu["convention"])), rate(mfu)) if part]
    if mfu["peak_flops"] is not None:
        second.append(
            f"peak {units.decimal(mfu['peak_flops'] / 1e12)} TFLOP/s "
            + units.clean(str(mfu["dtype"]))
        )
    return _figure("MFU", units.share(mfu["mfu"]), "; ".join(second), "mfu")


def bounds_figure(document: Document, period_ns: int, unit: str) -> Figure:
    """Return the added bounds of findings in disjoint buckets."""
    total, number = findings.added(document["findings"], period_ns)
    if not number:
        reason = (
            "no finding with a bound of its own"
            if document["findings"]
            else "no findings were made"
        )
        return Figure("Bounds, added", "", "", reason, "bound", State("none", reason))
    share = units.share(units.ratio(total, period_ns))
    return _figure(
        "Bounds, added",
        f"≤ {units.duration(total)}",
        f"{share} of the {unit}; {number} finding{'s' if number > 1 else ''} in disjoint buckets",
        "bound",
    )


def _explained(document: Document, over: Window) -> Figure:
    found = document["attribution"]
    why = state(found)
    if why:
        return Figure("Explained", "", "", why.reason, None, why)
    confidence = section(document, "steps").get("confidence")
    second = f"{units.duration(round(found['unattributed_ns'] / over.n))} without a known cause"
    if confidence is not None:
        second += f"; steps confidence {confidence:.2f}"
    return _figure("Explained", units.share(1 - found["unattributed_frac"]), second)


def _tables(document: Document, over: Window, rows: int) -> dict[str, Any]:
    made = {
        "kernels": ("Top kernels", rank_kernels.kernels(document, over, rows), "kernels"),
        "efficiency": (
            "How kernels fill the GPU",
            rank_efficiency.efficiency(document, over, min(rows, 50)),
            "efficiency",
        ),
        "classes": ("By class", rank_kernels.classes(document, over), "kernels"),
        "phases": ("By phase", rank_kernels.phases(document, over), "kernels"),
        "streams": ("Streams", rank_kernels.streams(document, over, min(rows, 40)), "streams"),
        "collectives": (
            "Collectives",
            rank_kernels.collectives(document, over, min(rows, 60)),
            "collectives",
        ),
        "syncs": ("Blocking calls", rank_host.syncs(document, over, min(rows, 50)), "syncs"),
        "gaps": ("Longest gaps", rank_host.gaps(document, over, min(rows, 100)), "gaps"),
        "memory": ("Memory operations", rank_host.memory(document, over), "memory"),
        "api": (
            "CUDA calls",
            rank_host.calls(document, "api", "CUDA calls", min(rows, 60)),
            "api",
        ),
        "os_calls": (
            "OS calls",
            rank_host.calls(document, "os_calls", "OS calls", min(rows, 40)),
            "os_calls",
        ),
        "nvtx": ("NVTX ranges", rank_host.nvtx(document, rows), "nvtx"),
    }
    unclassified = section(document, "kernels").get("unclassified") or ()
    return {
        "blocks": {
            name: Block(title, table, state(section(document, source)) or _no_phase(name, table))
            for name, (title, table, source) in made.items()
        },
        "efficiency_notes": rank_efficiency.notes(document, over),
        "unclassified": [
            {
                "name": units.shorten(units.clean(row["name"]), 60),
                "work": f"{units.duration(round(row['work_ns'] / over.n))} per {over.unit}",
            }
            for row in unclassified[:_UNCLASSIFIED]
        ],
        "unclassified_more": max(0, len(unclassified) - _UNCLASSIFIED),
        "overlap": section(document, "overlap"),
        "overlap_state": state(section(document, "overlap")),
    }


def _no_phase(name: str, table: Table | None) -> State | None:
    if name != "phases" or table:
        return None
    return State("not told", "no range and no anchor kernel says which phase a kernel belongs to")
