"""Judge how much of the forward pass is computed a second time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section
from nsysflow.shares import frac


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Rho is attention forward kernels per backward kernel: 1 none, 2 all recomputed."""
    del known
    (count,) = rows["recompute"]
    phases = {row["phase"]: row["ns"] for row in rows["phases"]}
    rho = frac(count["forward_count"], count["backward_count"])
    ranges = bool(set(phases) & {"forward", "backward", "recompute"})
    if rho is None and not ranges:
        reason = "no attention backward kernel and no range tells forward from backward"
        return {
            "status": "not_recorded",
            "reason": reason,
            "rho": None,
            "recompute_ns": None,
            "source": None,
        }
    return {
        "rho": rho,
        "recompute_ns": phases.get("recompute", 0) if ranges else None,
        "source": "phases" if ranges else "kernel_counts",
    }


ANALYSIS = Analysis(
    name="recompute",
    title="Recomputation",
    question="is the forward pass computed a second time?",
    why="Recomputed layers cost GPU time that no token sees.",
    do="Recompute fewer layers, or only attention, as far as memory allows.",
    misleads="The recomputation inside a fused attention backward is invisible and not counted.",
    judge=judge,
    queries=("recompute", "phases"),
)
