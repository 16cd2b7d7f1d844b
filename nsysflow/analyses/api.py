"""Judge the CUDA calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section, listed, total_of, without


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Calls are counted and summed over all threads of the process."""
    del known
    return listed([without(row, "total") for row in rows["api"]], total_of(rows["api"]))


ANALYSIS = Analysis(
    name="api",
    title="CUDA calls",
    question="which CUDA calls does the host spend its time in?",
    why="Host time in CUDA calls is time in which nothing else is launched.",
    do="Batch small launches with CUDA graphs or a compiler; keep allocations out of the step.",
    misleads="Sums over threads, and over waiting: not wall time, and not GPU idle time.",
    judge=judge,
    queries=("api",),
    tables=("CUPTI_ACTIVITY_KIND_RUNTIME",),
    capture="--trace=cuda",
)
