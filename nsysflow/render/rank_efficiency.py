"""How kernels fill the GPU: launch shapes of the large ones, runs of small ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsysflow.render import units
from nsysflow.render.rank_kernels import class_word
from nsysflow.render.sections import Document, Window, items, section, state
from nsysflow.render.tables import Column, Table, build, rest_note
from nsysflow.render.words import plain

CHAINS_NAMED = 3
# Each takes a kilobyte of the page, and below these nothing is to be gained.
MOST_SHAPES = 20


def efficiency(document: Document, window: Window, limit: int) -> Table | None:
    """Return the launch shapes of kernels above 1 % of the window."""
    found = section(document, "efficiency")
    if state(found):
        return None
    rows = [
        {
            **row,
            "class": class_word(row["class"]),
            "limiter": plain(row["limiter"]) if row["limiter"] else None,
        }
        for row in items(found)[: min(limit, MOST_SHAPES)]
    ]
    note = "Kernels above 1 % of the window, by launch shape. "
    columns = [
        Column("short_name", "Kernel", "name"),
        Column("class", "Class", "mark", wide=True),
        Column("grid", "Blocks", "count", wide=True),
        Column("work_ns", f"Work per {window.unit}", "ns", per=window.n),
    ]
    # Columns of which nothing can be told are left out; the reason stands below the table.
    if found["limits_reason"] is None:
        columns += _fit(window)
        note += (
            "Waves are told where blocks outnumber what fits at once and are no whole multiple "
            "of the SMs. "
        )
    uneven = "Uneven over steps"
    columns.append(Column("variation_frac", uneven, "share", null="not told", wide=True))
    if any(row["hint"] for row in rows):
        columns.append(Column("hint", "Hint", "long", null="none", quiet=True))
    return build(
        "t-efficiency",
        "How kernels fill the GPU",
        tuple(columns),
        rows,
        note=note + rest_note(len(rows), found["total"], "shape"),
        empty=f"No kernel of one launch shape takes 1 % of the {window.unit}.",
    )


def _fit(window: Window) -> list[Column]:
    return [
        Column("waves", "Waves", "decimal", null="not told"),
        Column("tail_frac", "In use over its waves", "share", null="not told"),
        Column("lost_ns", "Lost, at most", "ns", per=window.n, null="not told"),
        Column("sm_frac", "SMs with a block", "share", null="not told", wide=True),
        Column("occupancy_frac", "Occupancy", "share", null="not told", wide=True),
        Column("limiter", "Held by", null="not told", wide=True),
    ]


def notes(document: Document, window: Window) -> list[str]:
    """Return what the table cannot show: small kernels, runs, the rate of matrix kernels."""
    found = section(document, "efficiency")
    if state(found):
        return []
    lines = [_small(found["small"], window), _chains(found["chains"], window), _rate(found)]
    if found["limits_reason"]:
        lines.append(f"Waves: {units.clean(found['limits_reason'])}.")
    return lines


def _small(small: Mapping[str, Any], window: Window) -> str:
    if small["count_frac"] is None:
        return "No compute kernel belongs to the window."
    return (
        f"{units.share(small['count_frac'])} of compute kernels are shorter than "
        f"{units.duration(small['limit_ns'])}; they hold {units.share(small['work_frac'])} of the "
        f"work, {units.duration(round(small['work_ns'] / window.n))} per {window.unit}."
    )


def _chains(chains: Mapping[str, Any], window: Window) -> str:
    if not chains["count"]:
        return "No two kernels that only move bytes run one after another."
    named = "; ".join(_chain(row, window) for row in chains["items"][:CHAINS_NAMED])
    return (
        f"{_runs(chains['count'], window)} per {window.unit} of kernels that only move bytes could "
        "be fused: "
        f"{units.duration(round(chains['work_ns'] / window.n))} of work, "
        f"{units.decimal(chains['kernels'] / chains['count'])} kernels in a run; the costliest: "
        f"{named}."
    )


def _chain(row: Mapping[str, Any], window: Window) -> str:
    return (
        f"{_runs(row['count'], window)} of {row['length']} from {_named(row['first'])} to "
        f"{_named(row['last'])}, {units.duration(round(row['work_ns'] / window.n))}"
    )


def _runs(count: int, window: Window) -> str:
    number = units.decimal(count / window.n)
    return f"{number} run{'' if number == '1' else 's'}"


def _named(name: str) -> str:
    text = units.shorten(units.clean(name), 48).replace("`", "'")
    return f"`{text}`"


def _rate(found: Mapping[str, Any]) -> str:
    if found["tensor_rate_frac"] is None:
        why = units.clean(found["tensor_rate_reason"] or "not known")
        return f"Rate of matrix kernels: not told, {why}."
    return (
        f"Matrix kernels reach {units.share(found['tensor_rate_frac'])} of the peak while they run."
    )
