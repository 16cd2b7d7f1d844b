"""Parts of invented result documents: steps, findings, exact splits."""

from __future__ import annotations

import random
from typing import Any

from nsysflow.model import BUCKETS

Document = dict[str, Any]
STEP_NS = 910_200_000
NOT_BUILT = {"status": "not_applicable", "reason": "not built yet"}
# compute_only, overlap, exposed_comm, exposed_mem, graph_opaque, idle of one usual step
USUAL = (402_600_000, 96_300_000, 262_100_000, 9_400_000, 0, 139_800_000)


def rows(keys: str, *values: tuple[Any, ...]) -> list[Document]:
    """Return one dictionary per tuple under the keys named in ``keys``."""
    return [dict(zip(keys.split(), row, strict=True)) for row in values]


def buckets(values: tuple[int, ...] | list[int]) -> dict[str, int]:
    return {"window_ns": sum(values), **dict(zip(BUCKETS, values, strict=True))}


def listed(items: list[Document], total: int | None = None) -> Document:
    return {
        "status": "ok",
        "total": len(items) if total is None else total,
        "shown": len(items),
        "items": items,
    }


def split(total: int, names: tuple[str, ...], weights: dict[str, float]) -> dict[str, int]:
    """Split exactly, the last weighted name taking the remainder."""
    out = dict.fromkeys(names, 0)
    left = total
    chosen = list(weights)
    for name in chosen[:-1]:
        out[name] = round(total * weights[name])
        left -= out[name]
    out[chosen[-1]] += left
    return out


def steps_of(count: int, seed: int) -> Document:
    draw = random.Random(seed)  # noqa: S311
    at = 2_000_000_000
    items, dropped = [], []
    for index in range(count):
        values = [round(value * draw.uniform(0.97, 1.04)) for value in USUAL]
        keep = 2 <= index < count - 1
        flags = []
        if index == count // 2:
            values[5] += 41_400_000
            flags = ["data_loading"]
        made = buckets(values)
        items.append(
            {
                "index": index,
                "number": 39 + index,
                "start_ns": at,
                "end_ns": at + made["window_ns"],
                "kept": keep,
                "outlier": bool(flags),
                "flags": flags,
                "buckets": made,
            }
        )
        if not keep:
            reason = "partial" if index == 0 else "jit" if index == 1 else "checkpoint"
            dropped.append({"index": index, "number": 39 + index, "reason": reason})
        at += made["window_ns"]
    kept = sorted(item["end_ns"] - item["start_ns"] for item in items if item["kept"])
    return {
        "status": "ok",
        "source": "nvtx_step",
        "pattern": "step #",
        "confidence": 0.95,
        "kept": len(kept),
        "dropped": dropped,
        "median_ns": kept[len(kept) // 2],
        "period_ns": round(sum(kept) / len(kept)),
        "items": items,
    }


def _finding(
    name: str, category: str, title: str, bucket: str | None, ms: float, **more: Any
) -> Document:
    base: Document = {
        "id": name,
        "status": "opportunity",
        "category": category,
        "title": title,
        "bucket": bucket,
        "bound_ns_per_step": round(ms * 1e6),
        "bound_frac": round(ms * 1e6 / STEP_NS, 6),
        "bound_kind": "at most",
        "confidence": "high",
        "n_steps": 9,
        "window_ns": [0, STEP_NS],
        "evidence": [],
        "why": "The queue drains; the host must refill it.",
        "fix": "Change one thing.",
        "trade_off": None,
        "verify": "`nsysflow diff before after`: the bucket falls, compute stays.",
        "experiment": None,
        "capture_next": None,
    }
    return {**base, **more}


def _unbounded(name: str, status: str, category: str, title: str, why: str) -> Document:
    return _finding(
        name,
        category,
        title,
        None,
        0,
        status=status,
        why=why,
        bound_ns_per_step=None,
        bound_frac=None,
        fix="",
        verify="",
    )


def findings_of(first_gap: Document) -> list[Document]:
    return [
        _finding(
            "exposed_transfer",
            "exposed_communication",
            "FSDP collectives between nodes are not hidden",
            "transfer_gated",
            163.5,
            evidence=[
                "Transfer that gates compute: 163.5 ms per step (149.8 – 181.0 ms, n 9).",
                "64 AllGather and 33 ReduceScatter per step on `fsdp-64`, 8 hosts; 26.9 % hidden.",
                {
                    "text": "Bus bandwidth 96 GB/s; best seen at this size: 171 GB/s.",
                    "table": "t-collectives",
                },
            ],
            why="A layer cannot start before its weights arrive; the gather is issued too late.",
            fix="Shard inside the node and replicate across (HSDP), or prefetch further ahead.",
            trade_off="HSDP keeps 8 copies of the sharded state: about 10.5 GB more per GPU.",
            capture_next="`--trace=cuda,nvtx,nccl` on all ranks (rank 41 is missing).",
        ),
        _finding(
            "recompute",
            "recomputation",
            "Every layer’s forward pass runs twice",
            None,
            104.6,
            evidence=[
                "Forward kernels launched inside backward ranges: 104.6 ms per step (11.5 %, n 9)."
            ],
            fix="Recompute attention only, or the first 12 layers.",
            trade_off="Memory: measure the peak after the change.",
        ),
        _finding(
            "host_sync",
            "host_overhead",
            "Three .item() calls drain the queue every step",
            "host_sync",
            58.7,
            evidence=[
                {
                    "text": "Idle caused by blocking calls: 58.7 ms per step, 3 call sites.",
                    "table": "t-syncs",
                    "at": {"start_ns": first_gap["start_ns"], "dur_ns": first_gap["dur_ns"]},
                },
            ],
            fix="Log every 50 steps; keep the loss on the GPU.",
            capture_next="`--cudabacktrace=sync` for the source line.",
        ),
        _finding(
            "straggler",
            "stragglers",
            "This rank waits for rank 11",
            "wait_gated",
            46.0,
            fix="See rank 11 on the job page.",
            confidence="medium",
        ),
        _finding(
            "data_loading",
            "data_loading",
            "The step waits for its batch",
            "data_loading",
            31.2,
            fix="More loader workers; pin memory.",
            confidence="medium",
        ),
        _finding(
            "launch",
            "host_overhead",
            "The optimizer is launched kernel by kernel",
            "launch_bound",
            28.0,
            fix="Fused or foreach optimizer; CUDA graphs.",
            confidence="low",
        ),
        _unbounded(
            "bubble",
            "unavailable",
            "pipeline_bubble",
            "Pipeline bubble",
            "no send/receive communicator was recorded",
        ),
        _unbounded(
            "kernels", "ok", "kernel_efficiency", "no class of kernels is far below its peers", ""
        ),
        _unbounded(
            "measurement",
            "info",
            "measurement",
            "6 of 7 checks pass",
            "1 unknown: unprofiled step time",
        ),
    ]
