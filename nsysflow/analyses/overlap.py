"""Judge how much communication runs beside compute."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section, lost_kernels
from nsysflow.shares import frac

# Communication beside an opaque graph may be hidden or not: above this share nothing can be said.
OPAQUE_LIMIT = 0.05


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Overlap is the share of communication time in which a compute kernel runs."""
    overlapped = known.levels["compute_comm_overlap"]
    exposed = known.levels["exposed_comm"]
    opaque = known.levels["opaque_ns"]
    comm = overlapped + exposed
    section: Section = {
        "comm_ns": comm,
        "overlapped_ns": overlapped,
        "exposed_ns": exposed,
        "opaque_ns": opaque,
        "same_stream_ns": rows["same_stream"][0]["exposed_ns"],
        "overlap_frac": frac(overlapped, comm),
    }
    if not comm and (lost := lost_kernels(rows, known)):
        return section | lost | {"overlap_frac": None}
    asked = rows["comm_asked"][0]
    if not comm and asked["calls"] and not asked["comm_ops"]:
        reason = f"{asked['calls']:,} NCCL calls were recorded, but no kernel known as one of them"
        return section | {"status": "withheld", "reason": reason, "overlap_frac": None}
    if not comm and not opaque:
        reason = "no communication ran in the kept steps"
        return section | {"status": "not_applicable", "reason": reason, "overlap_frac": None}
    if opaque > OPAQUE_LIMIT * comm:
        reason = (
            "communication ran beside CUDA graphs traced as a whole; use --cuda-graph-trace=node"
        )
        return section | {"status": "withheld", "reason": reason, "overlap_frac": None}
    return section


ANALYSIS = Analysis(
    name="overlap",
    title="Communication overlap",
    question="how much of the communication is hidden behind compute?",
    why="Communication that no kernel hides lengthens the step by its full time.",
    do="Start collectives earlier (prefetch, buckets, own stream) so that compute covers them.",
    misleads="A collective also runs while it waits for late ranks: exposed is not yet blocked.",
    judge=judge,
    queries=("same_stream", "kernel_calls", "comm_asked"),
)
