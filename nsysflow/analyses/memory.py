"""Judge copies and sets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section, listed


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """A copy costs the time in which nothing else ran."""
    del known
    items = [dict(row) for row in rows["memory"]]
    return listed(items, len(items))


ANALYSIS = Analysis(
    name="memory",
    title="Copies and sets",
    question="what moves between host and device, and what of it does the GPU wait for?",
    why="A copy that nothing hides stops the step; a pageable one stops the host too.",
    do="Pin input buffers and copy the next batch with `non_blocking=True` during the step.",
    misleads="Work is summed durations; exposed time is what counts.",
    judge=judge,
    queries=("memory",),
)
