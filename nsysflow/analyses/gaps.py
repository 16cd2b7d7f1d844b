"""Judge the idle stretches of the GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section, without

MOST = 100


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Every idle nanosecond of the kept steps is in one gap."""
    del known
    (total,) = rows["idle_total"]
    top = [without(row, "launched", "behind") | {"evidence": _seen(row)} for row in rows["gaps"]]
    return {
        "count": total["count"],
        "total_ns": total["total_ns"],
        "total": total["count"],
        "shown": len(top),
        "top": top,
    }


def _seen(row: Row) -> str | None:
    if not row["launched"]:
        return "launch not recorded"
    if row["cause"] == "dependency_stall":
        return f"waited for {row['behind'] or 'an event'}"
    if row["cause"] == "gpu_shared":
        return "another process had the GPU"
    return None


ANALYSIS = Analysis(
    name="gaps",
    title="Idle GPU",
    question="when is the GPU idle, and what ends the wait?",
    why="An idle GPU does no work, whatever else the step shows.",
    do="Look at the cause of the longest gaps first; they usually repeat in every step.",
    misleads="A gap is idle on all streams; a busy copy stream hides an idle compute stream.",
    judge=judge,
    queries=("idle_total", "gaps"),
)
