"""Judge how busy each stream is."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import LIST_ROWS, Analysis, Known, Row, Section, listed
from nsysflow.shares import frac


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """A stream's busy share is of the kept windows and never above 1."""
    items = [
        {
            "context": row["context"],
            "stream": row["stream"],
            "role": _role(row),
            "count": row["count"],
            "busy_ns": row["busy_ns"],
            "busy_frac": frac(row["busy_ns"], known.window_ns),
        }
        for row in rows["streams"]
    ]
    return listed(items[:LIST_ROWS], len(items))


def _role(row: Row) -> str:
    carried = [role for role in ("compute", "comm", "copy") if row[role]]
    # An input copy on the compute stream does not make it a copy stream; communication matters.
    if carried == ["compute", "copy"]:
        return "compute"
    return carried[0] if len(carried) == 1 else "mixed"


ANALYSIS = Analysis(
    name="streams",
    title="Streams",
    question="how busy is each stream?",
    why="Communication on the compute stream can hide behind nothing.",
    do="Give collectives and copies streams of their own.",
    misleads="Busy streams overlap: their shares do not add up to the GPU's.",
    judge=judge,
    queries=("streams",),
)
