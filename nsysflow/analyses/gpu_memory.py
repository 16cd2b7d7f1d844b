"""Judge how much device memory was held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section

TABLE = "CUDA_GPU_MEMORY_USAGE_EVENTS"
NOTHING: Section = {"peak_bytes": None, "total_bytes": None}


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """The peak is of what the capture saw: memory taken before it began is not in it."""
    (row,) = rows["gpu_memory"]
    if known.tables.get(TABLE, "absent") == "absent":
        reason = "memory use was not recorded; capture with --cuda-memory-usage=true"
        return {"status": "not_recorded", "reason": reason, **NOTHING}
    if not row["taken"] or not row["given"] or not row["timed"]:
        reason = (
            f"{row['taken']} allocations and {row['given']} releases, {row['timed']} with a time: "
            "no curve can be drawn from that"
        )
        return {"status": "withheld", "reason": reason, **NOTHING}
    return {"peak_bytes": row["peak_bytes"], "total_bytes": known.memory_bytes}


ANALYSIS = Analysis(
    name="gpu_memory",
    title="GPU memory",
    question="how much GPU memory is left?",
    why="A larger micro-batch, less recomputation or longer prefetch all need memory.",
    do="Use what is free before buying time elsewhere.",
    misleads="Memory taken before the capture began is not counted, and allocators hold reserves.",
    judge=judge,
    queries=("gpu_memory",),
)
