"""The rank table of the job page: all ranks when few, those that stand out when many."""

from __future__ import annotations

import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.render import bars, units
from nsysflow.render.bars import Part
from nsysflow.render.limits import Limits
from nsysflow.render.sections import Document, items, section
from nsysflow.render.tables import Cell, Column, Of, Row, Table, build
from nsysflow.render.verdict import LOSSES
from nsysflow.render.words import BUCKET

FEW = 16
MOST_OUTLIERS = 32
# A rank stands out when a share is this far from the others: in deviations, and in the share.
_DEVIATIONS = 5
_NOTICEABLE = 0.02
_PAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*\.html")

Rank = Mapping[str, Any]


def name(rank: Rank) -> str:
    """Name a rank as the job page does."""
    if rank["rank"] is None:
        return units.clean(units.shorten(str(rank["label"]), 60))
    more = f" GPU {rank['device']}" if "-gpu" in str(rank["label"]) else ""
    return f"rank {rank['rank']}{more}"


def link(rank: Rank) -> str | None:
    """Return the page of a rank, if its name is that of a file beside this one."""
    page = rank["page"]
    return page if isinstance(page, str) and _PAGE.fullmatch(page) else None


def shares(rank: Rank) -> dict[str, float]:
    """Return the bucket shares of a rank."""
    buckets = rank["buckets"]
    return {key: units.ratio(buckets[key], buckets["window_ns"]) for key in BUCKET}


def worst(ranks: Sequence[Rank]) -> dict[str, Any] | None:
    """Return the rank that loses most, to look at first where nothing else says so."""
    if not ranks:
        return None
    lost = [(sum(shares(rank)[key] for key in LOSSES), rank) for rank in ranks]
    most, rank = max(lost, key=lambda pair: (pair[0], str(pair[1]["label"])))
    return {
        "name": name(rank),
        "href": link(rank),
        "lost": units.share(most),
        "alone": len(ranks) == 1,
    }


def most_losing(ranks: Sequence[Rank]) -> list[dict[str, Any]]:
    """Return the ranks that lose most, each with its largest loss.

    Graphs that were not split are no loss, here as in ``worst``: both name the same rank first.
    """
    rows = []
    for rank in ranks:
        part = shares(rank)
        key = max(LOSSES, key=lambda name: part[name])
        row = {
            "name": name(rank),
            "href": link(rank),
            "finding": _finding(rank).text,
            "lost": BUCKET[key].label.lower(),
            "css": BUCKET[key].css,
            "amount": units.duration(round(rank["buckets"][key] / (rank["steps_kept"] or 1))),
            "share": units.share(part[key]),
        }
        rows.append((sum(part[each] for each in LOSSES), row))
    return [row for _, row in sorted(rows, key=lambda pair: (-pair[0], pair[1]["name"]))[:5]]


def outliers(ranks: Sequence[Rank]) -> list[Rank]:
    """Return the ranks with a bucket share far from their peers', farthest first."""
    far: dict[int, float] = {}
    for key in BUCKET:
        values = [shares(rank)[key] for rank in ranks]
        middle = statistics.median(values)
        spread = statistics.median([abs(value - middle) for value in values])
        for at, value in enumerate(values):
            off = abs(value - middle)
            if off > max(_DEVIATIONS * spread, _NOTICEABLE):
                far[at] = max(far.get(at, 0.0), off)
    order = sorted(far, key=lambda at: (-far[at], at))
    return [ranks[at] for at in order]


def context(
    ranks: Sequence[Rank], result: Document, limits: Limits, unit: str = "step"
) -> dict[str, Any]:
    """Return the rank tables: ``shown`` open, ``hosts`` and ``folded`` for larger runs."""
    notes = _remarks(result)
    if len(ranks) <= FEW:
        return {
            "rank_table": _table("t-ranks", "All ranks", ranks, notes, unit) if ranks else None,
            "host_table": None,
            "folded": None,
            "rank_note": "",
        }
    flagged = [rank for rank in ranks if rank["label"] in notes]
    seen = {id(rank) for rank in flagged}
    far = [*flagged, *(rank for rank in outliers(ranks) if id(rank) not in seen)]
    shown = far[:MOST_OUTLIERS]
    caption = f"{units.count(len(far))} of {units.count(len(ranks))} ranks stand out"
    if len(far) > MOST_OUTLIERS:
        caption += f"; the first {MOST_OUTLIERS}"
    return {
        "rank_table": _table("t-out", caption, shown, notes, unit) if shown else None,
        "host_table": _hosts(ranks),
        "folded": _plain(ranks, limits),
        "rank_note": ""
        if shown
        else f"No rank stands out among {len(ranks)}: no bucket share is "
        "further from the median than 5 median deviations and 2 points.",
    }


def _remarks(result: Document) -> dict[str, str]:
    notes = {
        row["label"]: row["verdict"].replace("_", " ")
        for row in items(section(result, "stragglers"))
        if row["verdict"] in ("straggler", "transient")
    }
    for conflict in result["run"]["conflicts"]:
        for label in conflict["labels"]:
            notes[label] = f"rank {conflict['rank']} claimed {len(conflict['labels'])} times"
    return notes


def _segments(rank: Rank) -> list[bars.Segment]:
    parts = [Part(BUCKET[key], rank["buckets"][key]) for key in BUCKET]
    return bars.stack(parts, rank["buckets"]["window_ns"], labels=False)


def _shaped(rank: Rank, notes: Mapping[str, str]) -> dict[Any, Any]:
    part = shares(rank)
    text = name(rank)
    number = str(rank["rank"]) if rank["rank"] is not None else ""
    return {
        Of.ID: units.anchor("r", str(rank["label"])),
        "rank": Cell(text, value=number or None, csv=number or str(rank["label"]), href=link(rank)),
        "host": Cell(units.clean(str(rank["host"]))) if rank["host"] else None,
        "device": rank["device"],
        "gpu_name": rank["gpu_name"],
        "steps_kept": rank["steps_kept"],
        "period_ns": rank["period_ns"],
        "bar": _segments(rank),
        "compute_frac": part["compute_only"] + part["compute_comm_overlap"],
        "exposed_comm_frac": part["exposed_comm"],
        "idle_frac": part["idle"],
        "mfu": rank["mfu"],
        "top_finding": _finding(rank),
        "remark": notes.get(rank["label"], ""),
    }


def _finding(rank: Rank) -> Cell:
    top = rank["top_finding"]
    if top is None:
        return Cell("")
    text = top if isinstance(top, str) else str(top["title"])
    return Cell(units.clean(units.shorten(text, 120)))


def _table(
    table_id: str, caption: str, ranks: Sequence[Rank], notes: Mapping[str, str], unit: str
) -> Table:
    shaped = [_shaped(rank, notes) for rank in ranks]
    columns = [
        Column("rank", "Rank"),
        Column("host", "Host", null="not recorded", wide=True),
        Column("device", "GPU", "count", wide=True),
        *([Column("steps_kept", "Steps", "count", wide=True)] if unit == "step" else []),
        Column("period_ns", unit.capitalize(), "ns"),
        Column("bar", f"Where the {unit} goes", "bar", wide=True),
        Column("compute_frac", "Computes", "share"),
        Column("exposed_comm_frac", "Exposed comm", "share"),
        Column("idle_frac", "Idle", "share"),
    ]
    if any(rank["mfu"] is not None for rank in ranks):
        columns.append(Column("mfu", "MFU", "share", wide=True))
    if any(row["remark"] for row in shaped):
        # A phone shows the first columns only.
        columns.insert(1, Column("remark", "Remark"))
    if any(rank["top_finding"] is not None for rank in ranks):
        columns.append(Column("top_finding", "Top finding", "long", wide=True))
    return build(table_id, caption, columns, shaped)


def _hosts(ranks: Sequence[Rank]) -> Table | None:
    by_host: dict[str, list[Rank]] = {}
    for rank in ranks:
        by_host.setdefault(str(rank["host"] or "not recorded"), []).append(rank)
    if len(by_host) < 2 or len(by_host) > 128:  # noqa: PLR2004 - one host groups nothing
        return None
    rows = []
    for host, members in by_host.items():
        buckets = {
            key: sum(rank["buckets"][key] for rank in members) for key in ("window_ns", *BUCKET)
        }
        low = min(
            shares(rank)["compute_only"] + shares(rank)["compute_comm_overlap"] for rank in members
        )
        rows.append(
            {
                "host": units.clean(units.shorten(host, 60)),
                "ranks": Cell(_which(members), value=str(len(members))),
                "period_ns": round(statistics.median([rank["period_ns"] for rank in members])),
                "bar": _segments({"buckets": buckets}),
                "compute_frac": units.ratio(
                    buckets["compute_only"] + buckets["compute_comm_overlap"], buckets["window_ns"]
                ),
                "worst_frac": low,
            }
        )
    return build(
        "t-hosts",
        f"By host ({len(rows)})",
        (
            Column("host", "Host"),
            Column("ranks", "Ranks"),
            Column("period_ns", "Step, median", "ns"),
            Column("bar", "Where the step goes", "bar", wide=True),
            Column("compute_frac", "Computes", "share"),
            Column("worst_frac", "Worst rank computes", "share"),
        ),
        rows,
    )


def _which(ranks: Sequence[Rank]) -> str:
    numbers = [rank["rank"] for rank in ranks if rank["rank"] is not None]
    return units.numbers(numbers) if len(numbers) == len(ranks) else f"{len(ranks)} lanes"


def _plain(ranks: Sequence[Rank], limits: Limits) -> Table:
    """Return all ranks without bars: about 150 bytes a row."""
    most = 2_000 if limits.rows >= 60 else 1_024  # noqa: PLR2004 - the smallest pages
    rows = [_shaped(rank, {}) for rank in ranks[:most]]
    table = build(
        "t-all",
        f"All {units.count(len(ranks))} ranks",
        (
            Column("rank", "Rank"),
            Column("host", "Host", null="not recorded", wide=True),
            Column("device", "GPU", "count", wide=True),
            Column("period_ns", "Step", "ns"),
            Column("compute_frac", "Computes", "share"),
            Column("exposed_comm_frac", "Exposed comm", "share"),
            Column("idle_frac", "Idle", "share"),
        ),
        rows,
        note=f"The first {most} of {len(ranks)}." if len(ranks) > most else "",
    )
    return _without_double_ids(table)


def _without_double_ids(table: Table) -> Table:
    rows = tuple(Row(row.cells, f"a-{row.id}" if row.id else None, row.level) for row in table.rows)
    return Table(
        table.id,
        table.caption,
        table.columns,
        rows,
        table.note,
        table.filter,
        table.csv,
        table.empty,
        table.headers,
    )
