"""What an analysis is, and the shapes that sections share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Row = dict[str, Any]
Section = dict[str, Any]

LIST_ROWS = 200
# Where what a GPU computes is recorded.
DEVICE_TABLES = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_GRAPH_TRACE")


@dataclass(frozen=True)
class Known:
    """What a judge may know besides its rows.

    ``kept`` steps of ``window_ns`` together; ``levels`` the level-1 sums over them; ``tables``
    tells which raw tables the export holds (present, empty or absent); ``launched``: some of the
    lane's work was recorded with its call; ``memory_bytes`` is the GPU's memory, if known.
    """

    kept: int
    window_ns: int
    levels: Mapping[str, int]
    tables: Mapping[str, str]
    launched: bool
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Analysis:
    """One question: the queries that measure it and the judgement that words the answer.

    ``queries`` are stems below ``sql/analyses``; ``tables`` are raw tables without which it was not
    recorded. ``judge`` gets the rows of each query by stem.
    """

    name: str
    title: str
    question: str
    why: str
    do: str
    misleads: str
    judge: Callable[[Mapping[str, Sequence[Row]], Known], Section]
    queries: tuple[str, ...] = ()
    tables: tuple[str, ...] = ()
    capture: str | None = None

    def section(self, rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
        """Return the section, or why it could not be looked at."""
        if absent := self.missing(known.tables):
            return not_recorded(absent, self.capture)
        return {"status": "ok", **self.judge(rows, known)}

    def missing(self, tables: Mapping[str, str]) -> str | None:
        """Return the needed raw table that the export lacks."""
        return next((name for name in self.tables if tables.get(name, "absent") == "absent"), None)


def not_recorded(table: str, capture: str | None) -> Section:
    """Return the section of something the capture does not hold."""
    advice = f"; capture with {capture}" if capture else ""
    reason = f"this capture has no {table} table{advice}"
    return {"status": "not_recorded", "reason": reason}


def lost_kernels(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Return what to say of kernels that were launched while none was recorded; else nothing.

    ``rows`` hold those of ``kernel_calls``. What was asked for and is not there was not looked at.
    """
    calls = rows["kernel_calls"][0]["calls"]
    if not calls or any(known.tables.get(name) == "present" for name in DEVICE_TABLES):
        return {}
    reason = f"{calls:,} launches were recorded but no kernel; capture with --trace=cuda"
    return {"status": "not_recorded", "reason": reason}


def listed(items: Sequence[Row], total: int) -> Section:
    """Return a list section: how many there are, how many are shown, and those."""
    return {"total": total, "shown": len(items), "items": list(items)}


def total_of(rows: Sequence[Row]) -> int:
    """Return the ``total`` that a limited query counted before its limit."""
    return int(rows[0]["total"]) if rows else 0


def without(row: Row, *names: str) -> Row:
    """Return ``row`` less some columns."""
    return {key: value for key, value in row.items() if key not in names}
