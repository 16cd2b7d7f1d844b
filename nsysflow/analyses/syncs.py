"""Judge the calls in which the host waits for the GPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section, listed, total_of, without
from nsysflow.shares import frac


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """A wait costs the GPU idle time it causes, not the time the host spends in it."""
    items = [
        without(row, "total") | {"per_step": frac(row["count"], known.kept)}
        for row in rows["syncs"]
    ]
    return listed(items, total_of(rows["syncs"]))


ANALYSIS = Analysis(
    name="syncs",
    title="Host waits for the GPU",
    question="which waits of the host leave the GPU without work?",
    why="While the host waits it launches nothing; the queue drains and the GPU falls idle.",
    do="Remove .item(), print(loss), .cpu() and nonzero from the step, or fetch every n steps.",
    misleads="Time in the call is not lost time: waiting while the GPU works costs nothing.",
    judge=judge,
    queries=("syncs",),
    tables=("CUPTI_ACTIVITY_KIND_RUNTIME",),
    capture="--trace=cuda",
)
