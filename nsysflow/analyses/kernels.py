"""Judge which kernels the GPU spends its time in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from nsysflow.analyses.base import Analysis, Known, Row, Section, lost_kernels, total_of, without
from nsysflow.model import CLASSES


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Work is summed durations and may exceed wall time; busy time counts each instant once."""
    top = [without(row, "total") for row in rows["kernels"]]
    classes = [
        {"class": _class(row["class_rank"])} | without(row, "class_rank")
        for row in rows["kernel_classes"]
    ]
    return {
        "classes": classes,
        "top": top,
        "total": total_of(rows["kernels"]),
        "shown": sum(row["name"] != "(other)" for row in top),
        "unclassified": list(rows["unclassified"]),
    } | lost_kernels(rows, known)


def _class(rank: int) -> str:
    return CLASSES[rank] if rank < len(CLASSES) else "comm"


ANALYSIS = Analysis(
    name="kernels",
    title="Kernels",
    question="which kernels does the GPU spend its time in?",
    why="Time outside tensor kernels lowers the share of peak that a step can reach.",
    do="Fuse chains of small kernels; move float32 matrix products to bf16 or TF32.",
    misleads="Work is summed over streams: it is not wall time and may exceed it.",
    judge=judge,
    queries=("kernels", "kernel_classes", "unclassified", "kernel_calls"),
)
