"""Judge whether the host keeps up with the GPU, and how graphs are launched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """λ above 1: the host takes longer to launch a kernel than the GPU to run it."""
    del known
    (row,) = rows["launch"]
    kernel, interval = row["kernel_ns"], row["interval_ns"]
    pace = round(interval / kernel, 6) if kernel and interval is not None else None
    (depth,) = rows["queue_depth"]
    return {
        "lambda": pace,
        "queue_depth_median": depth["depth"],
        "graph_launches": row["graph_launches"],
        "graph_launch_ns": row["graph_launch_ns"],
        "kernels_in_graphs": row["kernels_in_graphs"],
    }


ANALYSIS = Analysis(
    name="launch",
    title="Launching",
    question="can the host keep up with the GPU?",
    why="A GPU that finishes kernels faster than they are launched waits for the host.",
    do="Replay CUDA graphs, compile, enlarge the micro-batch, fuse the optimizer.",
    misleads="Annotating every operator slows the host: repeat without it before believing λ.",
    judge=judge,
    queries=("launch", "queue_depth"),
    tables=("CUPTI_ACTIVITY_KIND_RUNTIME",),
    capture="--trace=cuda",
)
