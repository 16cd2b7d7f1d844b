"""Judge how well kernels fill the GPU, as far as names, shapes and durations tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from nsysflow.analyses import occupancy
from nsysflow.analyses.base import Analysis, Known, Row, Section, listed, total_of
from nsysflow.shares import frac

SMALL_NS = 10_000
UNEVEN = 0.1
FEW_STEPS = 3
NO_LIMITS = (
    "the limits of this GPU's multiprocessors were not recorded (TARGET_INFO_GPU), "
    "so waves and occupancy cannot be told"
)
NO_ETA = "needs the model's arithmetic: give a [model]"
PRODUCTS = ("gemm", "attention", "conv", "fused_comm_gemm")
HINTS = (
    (r"align[124](?!\d)", "operands are not aligned: want multiples of 8 elements, 16 for fp8"),
    (r"splitk|split_k|gemv|gemmsn", "few rows: the product is too narrow to fill the GPU"),
    (r"simt|sgemm|dgemm", "off the tensor cores"),
)


def judge(rows: Mapping[str, Sequence[Row]], known: Known) -> Section:
    """Shapes of large kernels, runs that could be one kernel, kernels too short to matter alone."""
    del known
    gpu = next(iter(rows["gpu_limits"]), None)
    limits = gpu if occupancy.known(gpu) else None
    items = [_shape(row, limits) for row in rows["kernel_shapes"]]
    (small,) = rows["small_kernels"]
    lost = [item["lost_ns"] for item in items if item["lost_ns"] is not None]
    return {
        "tensor_rate_frac": None,
        "tensor_rate_reason": NO_ETA,
        "limits_reason": None if limits else NO_LIMITS,
        "tail_lost_ns": sum(lost) if limits else None,
        "small": _small(small),
        "chains": _chains(rows["kernel_chains"]),
        **listed(items, total_of(rows["kernel_shapes"])),
    }


def _shape(row: Row, gpu: Row | None) -> Row:
    fit = occupancy.fit(row, gpu) if gpu else None
    tail = fit.tail_frac if fit else None
    uneven = row["spread_ns"] / row["mean_ns"] if row["mean_ns"] else None
    return {
        "name": row["name"],
        "short_name": row["short_name"],
        "class": row["class"],
        "grid": row["grid"],
        "block": row["block"],
        "count": row["count"],
        "work_ns": row["work_ns"],
        "waves": fit.waves if fit else None,
        "tail_frac": tail,
        "lost_ns": None if tail is None else round(row["work_ns"] * (1 - tail)),
        "sm_frac": fit.sm_frac if fit else None,
        "occupancy_frac": fit.occupancy_frac if fit else None,
        "limiter": fit.limiter if fit else None,
        "variation_frac": round(uneven, 6)
        if uneven is not None and row["steps"] >= FEW_STEPS
        else None,
        "hint": _hint(row),
    }


def _hint(row: Row) -> str | None:
    if row["class"] not in PRODUCTS:
        return None
    name = (row["name"] or "").lower()
    return next((text for pattern, text in HINTS if re.search(pattern, name)), None)


def _small(row: Row) -> Row:
    return {
        "limit_ns": SMALL_NS,
        "count": row["small_count"],
        "count_frac": frac(row["small_count"], row["count"]),
        "work_ns": row["small_work_ns"],
        "work_frac": frac(row["small_work_ns"], row["work_ns"]),
    }


def _chains(rows: Sequence[Row]) -> Row:
    first = rows[0] if rows else None
    return {
        "count": first["total_count"] if first else 0,
        "kernels": first["total_kernels"] if first else 0,
        "work_ns": first["total_ns"] if first else 0,
        **listed(
            [
                {name: row[name] for name in ("first", "last", "length", "count", "work_ns")}
                for row in rows
            ],
            total_of(rows),
        ),
    }


def with_rate(section: Section, mfu: Mapping[str, object], window_ns: int, tensor_ns: int) -> None:
    """Add the share of the peak that tensor kernels reach, from MFU's own arithmetic.

    ``section`` is changed in place. The rate is hardware arithmetic over the peak for as long as
    tensor kernels ran.
    """
    if section["status"] != "ok":
        return
    hfu = mfu.get("hfu")
    # Without a waterfall the step that MFU is of is not the step that was measured here.
    if not isinstance(hfu, float) or not mfu.get("waterfall") or not tensor_ns:
        section["tensor_rate_frac"] = None
        section["tensor_rate_reason"] = mfu.get("reason") or NO_ETA
        return
    section["tensor_rate_frac"] = round(hfu * window_ns / tensor_ns, 6)
    section["tensor_rate_reason"] = None


ANALYSIS = Analysis(
    name="efficiency",
    title="Kernel efficiency",
    question="do the kernels fill the GPU?",
    why="A kernel whose last wave is almost empty, or that is over before the GPU is full, holds "
    "the GPU without using it; kernels that only move bytes wait for memory one after another.",
    do="Enlarge the micro-batch, make sizes multiples of 128, compile or fuse runs of small "
    "kernels, use flash attention and fused optimizers.",
    misleads="Shapes say what could fit, not what ran: blocks of unequal length and persistent "
    "kernels break the count of waves, and low occupancy is normal in tensor kernels.",
    judge=judge,
    queries=("gpu_limits", "kernel_shapes", "small_kernels", "kernel_chains"),
)
