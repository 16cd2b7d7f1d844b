"""Where the step goes: by bucket, by cause, step by step, and from the peak down to MFU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.model import IDLE_CAUSES
from nsysflow.render import bars, strip, units
from nsysflow.render.bars import Part
from nsysflow.render.findings import ON_TOP
from nsysflow.render.mfu import rates, readings
from nsysflow.render.sections import Document, Window, section, state
from nsysflow.render.tables import Cell, Column, Of, Table, build
from nsysflow.render.verdict import LOSSES
from nsysflow.render.words import (
    BUCKET,
    COMM_PART,
    IDLE_CAUSE,
    LETTER_CSS,
    LETTER_WORD,
    MATRIX_CLASSES,
    PAUSE,
    STEP_SOURCE,
    Word,
    cause,
    plain,
    step_drop,
)

_REASONS = 20


def context(document: Document, over: Window) -> dict[str, Any]:
    """Return the variables of the section on step time."""
    parts = _cause_parts(document)
    steps = section(document, "steps")
    mfu = section(document, "mfu")
    source = STEP_SOURCE.get(steps.get("source", "none"), str(steps.get("source")))
    return {
        "cause_bar": bars.stack(parts, over.ns, n=over.n),
        "cause_legend": bars.legend(parts, over.ns, n=over.n),
        "causes": _cause_table(document, over),
        "strip": strip.strip(document),
        "falls": strip.waterfall(mfu),
        "mfu": mfu,
        "mfu_state": state(mfu),
        "mfu_readings": readings(mfu),
        "mfu_rates": rates(mfu),
        "hfu": units.share(mfu["hfu"]) if mfu.get("hfu") is not None else None,
        "steps": steps,
        "steps_state": state(steps),
        "steps_source": units.clean(source),
        "dropped": _dropped(steps.get("dropped") or ()),
        "pauses": [
            f"{PAUSE.get(row['kind'], plain(row['kind']))}: {units.count(row['count'])} "
            f"in the capture, {units.duration(row['ns_each'])} each beyond a usual step"
            for row in document["amortised"]
        ],
    }


def _dropped(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """Return the dropped steps by reason, in the order in which the reasons come up."""
    found: dict[str, list[int]] = {}
    for row in rows:
        name = row["index"] if row["number"] is None else row["number"]
        found.setdefault(row["reason"], []).append(name)
    return [
        {"name": units.numbers(names), "reason": units.clean(step_drop(reason))}
        for reason, names in list(found.items())[:_REASONS]
    ]


def causes(document: Document, window: Window) -> list[dict[str, Any]]:
    """Return the rows of the cause table: six buckets, each followed by its causes."""
    split = document["causes"]
    inside: dict[str, Sequence[tuple[str, int]]] = {
        "exposed_comm": [
            (name, split["exposed_comm"][name])
            for name in COMM_PART
            if split["exposed_comm"].get(name)
        ],
        "idle": sorted(
            ((name, ns) for name, ns in (split.get("idle") or {}).items() if ns),
            key=lambda pair: (
                -pair[1],
                IDLE_CAUSES.index(pair[0]) if pair[0] in IDLE_CAUSES else 99,
            ),
        ),
    }
    rows = []
    for bucket in (
        "compute_only",
        "compute_comm_overlap",
        "exposed_comm",
        "exposed_mem",
        "graph_opaque",
        "idle",
    ):
        rows.append({"name": bucket, "ns": document["buckets"][bucket], "level": "l1"})
        rows += [{"name": name, "ns": ns, "level": "l2"} for name, ns in inside.get(bucket, ())]
    return [{**row, "share": units.ratio(row["ns"], window.ns)} for row in rows]


def losses(document: Document, over: Window) -> list[dict[str, str]]:
    """Return the five largest losses by cause, for pages without findings."""
    rows = [row for row in causes(document, over) if row["ns"]]
    split = {
        "exposed_comm" if row["name"] in COMM_PART else "idle"
        for row in rows
        if row["level"] == "l2"
    }
    kept = [
        row
        for row in rows
        if row["name"] in LOSSES + tuple(COMM_PART) + IDLE_CAUSES and row["name"] not in split
    ]
    kept.sort(key=lambda row: (-row["ns"], row["name"]))
    return [
        {
            "label": cause(row["name"]).label,
            "bucket": _inside(row["name"]),
            "css": cause(row["name"]).css,
            "amount": units.duration(round(row["ns"] / over.n)),
            "share": units.share(row["share"]),
        }
        for row in kept[:ON_TOP]
    ]


def _inside(name: str) -> str:
    if name in IDLE_CAUSES:
        return "idle: "
    return "exposed communication: " if name in COMM_PART else ""


def _cause_parts(document: Document) -> list[Part]:
    """Split every bucket by cause, for the second bar; causes of one group join."""
    split, buckets = document["causes"], document["buckets"]
    compute = split.get("compute") or {}
    matrix = sum(ns for name, ns in compute.items() if name in MATRIX_CLASSES)
    other = sum(compute.values()) - matrix
    parts = [
        Part(Word("matrix kernels", "matrix kernels", "compute"), matrix),
        Part(Word("other kernels", "other kernels", "c-nontensor"), other),
    ]
    if not compute:
        parts = [
            Part(BUCKET[name], buckets[name]) for name in ("compute_only", "compute_comm_overlap")
        ]
    comm = split.get("exposed_comm") or {}
    parts += [Part(COMM_PART[name], comm[name]) for name in COMM_PART if comm.get(name)]
    if not any(comm.values()):
        parts.append(Part(BUCKET["exposed_comm"], buckets["exposed_comm"]))
    parts += [Part(BUCKET[name], buckets[name]) for name in ("exposed_mem", "graph_opaque")]
    idle = split.get("idle") or {}
    if not any(idle.values()):
        return [*parts, Part(BUCKET["idle"], buckets["idle"])]
    return parts + [_idle_group(letter, idle) for letter in LETTER_WORD]


def _idle_group(letter: str, idle: Mapping[str, int]) -> Part:
    """Join the causes that share a letter: twenty causes cannot be twenty fills."""
    inside = [name for name, ns in idle.items() if ns and cause(name).letter == letter]
    label = (
        IDLE_CAUSE[inside[0]].label
        if len(inside) == 1 and inside[0] in IDLE_CAUSE
        else LETTER_WORD[letter]
    )
    return Part(
        Word(label, label, LETTER_CSS[letter], None, letter), sum(idle[name] for name in inside)
    )


def _cause_table(document: Document, over: Window) -> Table:
    rows = causes(document, over)
    longest = max((row["share"] for row in rows), default=0) or 1
    kept = [
        item["buckets"] for item in section(document, "steps").get("items") or () if item["kept"]
    ]
    shaped: list[dict[Any, Any]] = []
    for row in rows:
        word = cause(row["name"])
        ranges = [b[row["name"]] for b in kept] if row["level"] == "l1" else []
        shaped.append(
            {
                **row,
                Of.LEVEL: row["level"],
                "cause": Cell(
                    word.label,
                    csv=row["name"],
                    css=word.css,
                    letter=word.letter,
                    href=f"#g-{word.term}" if word.term else None,
                ),
                "min_ns": min(ranges) if ranges else Cell("", value=""),
                "max_ns": max(ranges) if ranges else Cell("", value=""),
                "bar": [bars.track(word.css, 0, row["share"] / longest)],
            }
        )
    total: dict[Any, Any] = {
        "cause": Cell("Window, sums exactly", csv="window_ns"),
        "ns": over.ns,
        "share": 1.0,
        "min_ns": Cell("", value=""),
        "max_ns": Cell("", value=""),
        "bar": [],
        Of.LEVEL: "tot",
    }
    spreads = [
        Column("min_ns", "Min", "ns", wide=True, group="time"),
        Column("max_ns", "Max", "ns", wide=True, group="time"),
    ]
    if over.n == 1:
        spreads = []
    return build(
        "t-causes",
        "By bucket and cause",
        (
            Column("cause", "Bucket and cause"),
            Column("ns", f"Per {over.unit}", "ns", per=over.n, group="time"),
            Column("share", f"Of {over.unit}", "share"),
            *spreads,
            Column("bar", f"0 – {units.share(longest)} of the {over.unit}", "bar", wide=True),
        ),
        [*shaped, total],
        note=f"{'Min and max: ' + over.text + '. ' if spreads else ''}"
        "Shares are rounded row by row and may differ from the sum by 0.1.",
    )
