"""Judge the Operating-system calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section, listed, total_of, without


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Calls are counted and summed over all threads of the process."""
    del known
    return listed([without(row, "total") for row in rows["os_calls"]], total_of(rows["os_calls"]))


ANALYSIS = Analysis(
    name="os_calls",
    title="Operating-system calls",
    question="which operating-system calls do the threads spend their time in?",
    why="A thread that waits for data or a lock launches nothing.",
    do="Follow the waits of the launching thread; ignore helpers that wait by design.",
    misleads="Waiting threads of libraries dominate the sums and cost nothing.",
    judge=judge,
    queries=("os_calls",),
    tables=("OSRT_API",),
    capture="--trace=osrt",
)
