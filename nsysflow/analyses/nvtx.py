"""Judge the annotated ranges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section, listed, total_of, without


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Three times of a range: on its thread, on the device once per instant, and summed work."""
    del known
    return listed([without(row, "total") for row in rows["nvtx"]], total_of(rows["nvtx"]))


ANALYSIS = Analysis(
    name="nvtx",
    title="Annotated ranges",
    question="which part of the program does the GPU work for?",
    why="Ranges lead from a kernel back to the line that asked for it.",
    do="Follow the path with the most projected time.",
    misleads="Host time is when work was asked for, not when the GPU ran it; ops of helper "
    "threads hang below the range that the stepping thread was in.",
    judge=judge,
    queries=("nvtx",),
    tables=("NVTX_EVENTS",),
    capture="--trace=nvtx",
)
