"""Judge communication by operation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import LIST_ROWS, Analysis, Known, Row, Section, listed, lost_kernels


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """An instant with several collectives is charged to the one that ends last."""
    items = [
        {
            **row,
            "kind": "unknown",
            "members": None,
            "wait_ns": None,
            "transfer_ns": None,
            "algbw_bytes_per_s": None,
            "busbw_bytes_per_s": None,
        }
        for row in rows["collectives"]
    ]
    lost = {} if items else lost_kernels(rows, known)
    return listed(items[:LIST_ROWS], len(items)) | lost


ANALYSIS = Analysis(
    name="collectives",
    title="Collectives",
    question="which collectives does the GPU wait for, and which are hidden?",
    why="Exposed collectives are the price of spreading the model or the batch.",
    do="Look at the exposed ones; hidden ones cost nothing but the units they occupy.",
    misleads="A kernel's duration includes waiting for late ranks; it says nothing of bandwidth.",
    judge=judge,
    queries=("collectives", "kernel_calls"),
)
