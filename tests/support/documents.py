"""Result documents to draw: full, minimal, hostile and huge; all numbers invented, sums exact."""

from __future__ import annotations

import copy
import random
from typing import Any

from nsysflow.model import BUCKETS, CATEGORIES, EXPOSED_COMM_PARTS, IDLE_CAUSES
from nsysflow.render.timeline_marks import CLASSES

Document = dict[str, Any]
STEP_NS = 910_200_000
NOT_BUILT = {"status": "not_applicable", "reason": "not built yet"}
# compute_only, overlap, exposed_comm, exposed_mem, graph_opaque, idle of one usual step
USUAL = (402_600_000, 96_300_000, 262_100_000, 9_400_000, 0, 139_800_000)

HOSTILE = {
    "script": '</script><script>document.title="PWNED"</script>',
    "comment": "<!--<script>",
    "style": "</style><style>body{display:none}",
    "img": "<img src=x onerror=alert(1)>",
    "attribute": "\"' onmouseover=\"document.title='PWNED'",
    "svg": "</title></svg><svg onload=document.title='PWNED'>",
    "json": '{"a":"\\u003c"}]]></script>',
    "css": "red;}*{background:url(http://evil.example/x)}",
    "href": "javascript:document.title='PWNED'",
    "id": 'x" onclick="document.title=1" y="',
    "template": "{{ 7*7 }}{% for x in y %}${7*7}",
    "separator": "line\u2028paragraph\u2029end",
    "direction": "rtl\u200f\u202egnp.exe",
    "control": "nul\x00bell\x07escape\x1b[31m del\x7f c1\x85",
    "surrogate": "lone\ud800surrogate",
    "emoji": "\U0001f468\u200d\U0001f680 GPU",
    "formula": '=HYPERLINK("http://evil.example","x")',
    "kernel": "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float>>(int)",
    "long": "k<" + "very_long_template_argument, " * 140 + ">",
}


def buckets(values: tuple[int, ...] | list[int]) -> dict[str, int]:
    return {"window_ns": sum(values), **dict(zip(BUCKETS, values, strict=True))}


def listed(items: list[Document], total: int | None = None) -> Document:
    return {
        "status": "ok",
        "total": len(items) if total is None else total,
        "shown": len(items),
        "items": items,
    }


def _steps(count: int, seed: int) -> Document:
    draw = random.Random(seed)
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


def _split(total: int, names: tuple[str, ...], weights: dict[str, float]) -> dict[str, int]:
    """Split exactly, the last weighted name taking the remainder."""
    out = dict.fromkeys(names, 0)
    left = total
    chosen = list(weights)
    for name in chosen[:-1]:
        out[name] = round(total * weights[name])
        left -= out[name]
    out[chosen[-1]] += left
    return out


def _kernels(n: int) -> Document:
    names = [
        ("nvjet_tst_192x192_64x4_2x1_v_bz_coopA_TNT", "gemm", "yes", 448, 131_200_000, 291_000),
        ("nvjet_tst_128x256_64x4_1x2_h_bz_coopB_NTN", "gemm", "yes", 512, 96_400_000, 187_000),
        (
            "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, 4, 4, 4, false, false, cutlass::bfloat16_t>, false, true>(Flash_bwd_params)",
            "attention",
            "yes",
            32,
            36_800_000,
            1_150_000,
        ),
        (
            "void vllm_layer_norm::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, const c10::BFloat16*)",
            "norm",
            "no",
            260,
            31_900_000,
            122_000,
        ),
        (HOSTILE["kernel"], "elementwise", "no", 64, 14_100_000, 220_000),
        (
            "multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float>>",
            "optimizer",
            "no",
            276,
            24_900_000,
            81_000,
        ),
        (
            "unrolled_elementwise_kernel<direct_copy_kernel_cuda>",
            "copy",
            "no",
            1024,
            17_700_000,
            16_000,
        ),
        (
            "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
            "comm",
            "no",
            64,
            241_000_000,
            3_700_000,
        ),
        ("triton_poi_fused_mystery_12", "other", "unknown", 456, 5_500_000, 11_000),
    ]
    top = [
        {
            "name": name,
            "short_name": name.split("<")[0].split("(")[0],
            "class": kind,
            "tensor_core": tensor,
            "count": count * n,
            "work_ns": work * n,
            "median_ns": median,
            "min_ns": median * 4 // 5,
            "max_ns": median * 3 // 2,
        }
        for name, kind, tensor, count, work, median in sorted(
            names, key=lambda row: (-row[4], row[0])
        )
    ]
    rest = {
        **top[-1],
        "name": "(other)",
        "short_name": "(other)",
        "class": "other",
        "count": 40 * n,
        "work_ns": 900_000 * n,
    }
    by_class: dict[str, list[int]] = {}
    for row in [*top, rest]:
        held = by_class.setdefault(row["class"], [0, 0])
        held[0] += row["count"]
        held[1] += row["work_ns"]
    return {
        "status": "ok",
        "classes": [
            {"class": name, "count": held[0], "work_ns": held[1], "busy_ns": held[1] * 95 // 100}
            for name, held in by_class.items()
        ],
        "top": [*top, rest],
        "total": 211,
        "shown": len(top) + 1,
        "unclassified": [
            {"name": "triton_poi_fused_mystery_12", "count": 456 * n, "work_ns": 5_500_000 * n}
        ],
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


def _findings(first_gap: Document) -> list[Document]:
    return [
        _finding(
            "exposed_transfer",
            "exposed_communication",
            "FSDP collectives between nodes are not hidden",
            "transfer_gated",
            163.5,
            evidence=[
                "Transfer that gates compute: 163.5 ms per step (149.8 – 181.0 ms, n 9).",
                "64 AllGather and 33 ReduceScatter per step on communicator `fsdp-64`, 8 hosts; 26.9 % of their time is hidden.",
                {
                    "text": "Bus bandwidth 96 GB/s on the transfer part; best seen at this size: 171 GB/s.",
                    "table": "t-collectives",
                },
            ],
            why="A layer cannot start before its weights arrive; the gather is issued only after the layer before has begun.",
            fix="Shard inside the node and replicate across (HSDP), or prefetch one layer further ahead.",
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


def _timeline(steps: Document, shown: list[int], layers: int, seed: int) -> Document:
    draw = random.Random(seed)
    names = [
        "forward",
        "backward",
        "optimizer",
        "gemm_kernel",
        "norm_kernel",
        "AllGather",
        "cudaLaunchKernel",
        "cudaStreamSynchronize",
        "loader",
    ]
    place = {name: at for at, name in enumerate(CLASSES)}
    made = []
    for index in shown:
        item = steps["items"][index]
        dur = item["end_ns"] - item["start_ns"]
        rows: dict[str, list[list[float]]] = {
            key: [] for key in ("nvtx", "state", "compute", "comm", "copies", "idle", "host")
        }
        loader = dur // 30
        rows["nvtx"] = [
            [0, loader, place["range"], 8, 1, 1],
            [loader, dur // 3, place["range"], 0, 1, 1],
            [loader + dur // 3, dur // 2, place["range"], 1, 1, 1],
            [
                loader + dur // 3 + dur // 2,
                dur - loader - dur // 3 - dur // 2,
                place["range"],
                2,
                1,
                1,
            ],
        ]
        rows["state"].append([0, loader, place["idle"], -1, 1, 1])
        rows["idle"].append([0, loader, place["data_loading"], -1, 1, 1])
        rows["copies"].append([loader - 4_000_000, 4_000_000, place["copy"], -1, 1, 1])
        each = (dur - loader) // layers
        for layer in range(layers):
            at = loader + layer * each
            compute, comm = (
                round(each * draw.uniform(0.45, 0.6)),
                round(each * draw.uniform(0.25, 0.35)),
            )
            rows["compute"] += [
                [at, compute * 7 // 10, place["tensor"], 3, 1, 1],
                [at + compute * 7 // 10, compute * 3 // 10, place["kernel"], 4, 1, 1],
            ]
            rows["comm"] += [
                [at + compute - comm // 3, comm // 3, place["hidden"], 5, 1, 1],
                [at + compute, comm // 4, place["wait"], 5, 1, 1],
                [at + compute + comm // 4, comm - comm // 4, place["transfer"], 5, 1, 1],
            ]
            rows["state"] += [
                [at, compute, place["compute_only"], -1, 1, 1],
                [at + compute, comm, place["exposed_comm"], -1, 1, 1],
            ]
            rest = each - compute - comm
            rows["state"].append([at + compute + comm, rest, place["idle"], -1, 1, 1])
            cause = ("host_sync", "launch_bound", "micro_gap", "idle_unattributed")[layer % 4]
            rows["idle"].append([at + compute + comm, rest, place[cause], -1, 1, 1])
            rows["host"] += [
                [at - each // 3 if layer else at, each // 5, place["launch"], 6, 12, 0.8],
                [at + compute, rest, place["blocking"], 7, 1, 1],
            ]
        labels = {
            "nvtx": "Phase (NVTX)",
            "state": "GPU state",
            "compute": "Stream 7, compute",
            "comm": "Stream 20, AllGather",
            "copies": "Copies",
            "idle": "Idle, by cause",
            "host": "Main: CUDA calls",
        }
        kinds = {"compute": "stream", "comm": "stream"}
        made.append(
            {
                "index": index,
                "bin_ns": dur // 2200,
                "merged": 0,
                "rows": [
                    {"label": labels[key], "kind": kinds.get(key, key), "marks": sorted(marks)}
                    for key, marks in rows.items()
                ],
            }
        )
    first = steps["items"][shown[0]]["start_ns"]
    return {"status": "ok", "t0_ns": first, "classes": list(CLASSES), "names": names, "steps": made}


def full(rank: int = 3, steps: int = 12, layers: int = 32, seed: int | None = None) -> Document:
    """Return a rank document in which every section is ok."""
    seed = rank if seed is None else seed
    found = _steps(steps, seed)
    kept = [item for item in found["items"] if item["kept"]]
    n = len(kept)
    total = {key: sum(item["buckets"][key] for item in kept) for key in ("window_ns", *BUCKETS)}
    idle = _split(
        total["idle"],
        IDLE_CAUSES,
        {
            "host_sync": 0.42,
            "data_loading": 0.223,
            "launch_bound": 0.2,
            "micro_gap": 0.05,
            "gc": 0.028,
            "cuda_malloc_free": 0.02,
            "idle_unattributed": 0.059,
        },
    )
    comm = _split(
        total["exposed_comm"],
        EXPOSED_COMM_PARTS,
        {
            "wait_gated": 0.27,
            "transfer_host_late": 0.084,
            "unsplit_gated": 0.02,
            "transfer_gated": 0.626,
        },
    )
    computes = total["compute_only"] + total["compute_comm_overlap"]
    compute = _split(
        computes,
        (
            "attention",
            "gemm",
            "norm",
            "optimizer",
            "elementwise",
            "copy",
            "loss_softmax",
            "embedding",
            "other",
        ),
        {
            "gemm": 0.537,
            "attention": 0.122,
            "norm": 0.105,
            "elementwise": 0.1,
            "optimizer": 0.05,
            "copy": 0.043,
            "loss_softmax": 0.02,
            "embedding": 0.01,
            "other": 0.013,
        },
    )
    phase = _split(
        computes,
        ("forward", "recompute", "backward", "optimizer", "other", "unknown"),
        {"forward": 0.236, "recompute": 0.21, "optimizer": 0.05, "other": 0.013, "backward": 0.491},
    )
    categories = _split(
        total["window_ns"],
        CATEGORIES,
        {
            "exposed_communication": 0.2,
            "recomputation": 0.115,
            "host_overhead": 0.11,
            "data_loading": 0.034,
            "stragglers": 0.078,
            "measurement": 0.015,
            "kernel_efficiency": 0.448,
        },
    )
    gap = {"start_ns": kept[0]["start_ns"] + 800_000_000, "dur_ns": 28_500_000}
    findings = _findings(gap)
    named = {finding["category"]: finding["id"] for finding in reversed(findings)}
    return {
        "schema": 1,
        "tool": {"version": "0.1.0"},
        "lane": {
            "rank": rank,
            "rank_source": "env",
            "label": f"{rank:04d}",
            "file": f"rank{rank}.sqlite",
            "host": f"host-{rank // 8 + 1}",
            "pid": 4242 + rank,
            "device": rank % 8,
            "gpu_source": "TARGET_INFO_CUDA_DEVICE",
            "shared_gpu": False,
            "gpu": {
                "name": "NVIDIA H100 80GB HBM3",
                "uuid": "GPU-6f1e",
                "sm_count": 132,
                "memory_bytes": 85_520_809_984,
                "bandwidth_bytes_per_s": 3_352_320_000_000,
            },
        },
        "capture": {
            "status": "ok",
            "nsys_version": "2025.6.1",
            "schema_version": "3.25.2",
            "start_ns": 0,
            "end_ns": 12_400_000_000,
            "utc_start_ns": "1796133720000000000",
            "tables": {
                "CUPTI_ACTIVITY_KIND_KERNEL": "present",
                "CUPTI_ACTIVITY_KIND_MEMCPY": "present",
                "CUPTI_ACTIVITY_KIND_RUNTIME": "present",
                "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": "empty",
                "NVTX_EVENTS": "present",
                "DIAGNOSTIC_EVENT": "present",
            },
            "counts": {
                "kernels": 58_204,
                "memcpys": 1_210,
                "memsets": 873,
                "graph_rows": 0,
                "api_calls": 402_118,
                "nvtx_ranges": 61_007,
            },
            "span": {
                "start_ns": found["items"][0]["start_ns"],
                "end_ns": found["items"][-1]["end_ns"],
                "buckets": buckets([v * steps for v in USUAL]),
            },
            "warnings": [
                {
                    "severity": "warning",
                    "text": "Not all NVTX events might have been collected.",
                    "count": 1,
                }
            ],
            "dropped": {
                "no_timestamp": 0,
                "impossible_duration": 2,
                "open_ranges": 3,
                "undecodable_text": 0,
                "non_integer_cells": 0,
            },
        },
        "steps": found,
        "buckets": total,
        "overlap": {
            "status": "ok",
            "comm_ns": total["compute_comm_overlap"] + total["exposed_comm"],
            "overlapped_ns": total["compute_comm_overlap"],
            "exposed_ns": total["exposed_comm"],
            "opaque_ns": 0,
            "overlap_frac": round(
                total["compute_comm_overlap"]
                / (total["compute_comm_overlap"] + total["exposed_comm"]),
                6,
            ),
        },
        "causes": {"idle": idle, "exposed_comm": comm, "compute": compute, "phase": phase},
        "attribution": {
            "status": "ok",
            "unattributed_ns": idle["idle_unattributed"],
            "unattributed_frac": round(idle["idle_unattributed"] / total["window_ns"], 6),
            "verdict": "good",
        },
        "categories": {
            name: {"ns": ns, "frac": round(ns / total["window_ns"], 6), "finding": named.get(name)}
            for name, ns in categories.items()
        },
        "gaps": {
            "status": "ok",
            "count": 3_912,
            "total_ns": total["idle"],
            "total": 3_912,
            "shown": 4,
            "top": [
                {
                    "start_ns": kept[4]["start_ns"],
                    "dur_ns": 72_600_000,
                    "cause": "data_loading",
                    "step": kept[4]["index"],
                    "next_op": "copy host to device",
                    "evidence": "DataLoader next()",
                },
                {
                    "start_ns": kept[1]["start_ns"],
                    "dur_ns": 48_800_000,
                    "cause": "data_loading",
                    "step": kept[1]["index"],
                    "next_op": "copy host to device",
                    "evidence": "DataLoader next()",
                },
                {
                    **gap,
                    "cause": "host_sync",
                    "step": kept[0]["index"],
                    "next_op": "unrolled_elementwise_kernel",
                    "evidence": None,
                },
                {
                    "start_ns": kept[-1]["end_ns"] + 5,
                    "dur_ns": 18_900_000,
                    "cause": "idle_unattributed",
                    "step": None,
                    "next_op": None,
                    "evidence": None,
                },
            ],
        },
        "syncs": listed(
            [
                {
                    "api": "cudaStreamSynchronize",
                    "kind": "item_copy",
                    "nvtx_path": "logging",
                    "callsite": None,
                    "count": n,
                    "per_step": 1.0,
                    "host_ns": 61_900_000 * n,
                    "idle_caused_ns": 28_500_000 * n,
                    "bytes": 4,
                    "copy_kind": 2,
                },
                {
                    "api": "cudaStreamSynchronize",
                    "kind": "stream_sync",
                    "nvtx_path": "clip / norm",
                    "callsite": "train.py:88",
                    "count": n,
                    "per_step": 1.0,
                    "host_ns": 32_400_000 * n,
                    "idle_caused_ns": 11_300_000 * n,
                    "bytes": None,
                    "copy_kind": None,
                },
                {
                    "api": "cudaEventSynchronize",
                    "kind": "event_sync",
                    "nvtx_path": None,
                    "callsite": None,
                    "count": 32 * n,
                    "per_step": 32.0,
                    "host_ns": 4_100_000 * n,
                    "idle_caused_ns": 0,
                    "bytes": None,
                    "copy_kind": None,
                },
            ]
        ),
        "kernels": _kernels(n),
        "streams": listed(
            [
                {
                    "context": 1,
                    "stream": 7,
                    "role": "compute",
                    "count": 51_000,
                    "busy_ns": computes,
                    "busy_frac": 0.55,
                },
                {
                    "context": 1,
                    "stream": 20,
                    "role": "comm",
                    "count": 873,
                    "busy_ns": total["exposed_comm"],
                    "busy_frac": 0.28,
                },
                {
                    "context": 1,
                    "stream": 24,
                    "role": "mixed",
                    "count": 90,
                    "busy_ns": 9_000_000,
                    "busy_frac": 0.0002,
                },
            ]
        ),
        "collectives": listed(
            [
                {
                    "op": "all_gather",
                    "op_source": "payload",
                    "communicator": "fsdp-64",
                    "kind": "fsdp",
                    "members": 64,
                    "count": 64 * n,
                    "bytes": 53_687_091_200 * n,
                    "work_ns": 241_000_000 * n,
                    "exposed_ns": 190_000_000 * n,
                    "wait_ns": 52_000_000 * n,
                    "transfer_ns": 188_000_000 * n,
                    "algbw_bytes_per_s": 97_600_000_000,
                    "busbw_bytes_per_s": 96_100_000_000,
                },
                {
                    "op": "reduce_scatter",
                    "op_source": "kernel_name",
                    "communicator": None,
                    "kind": "unknown",
                    "members": None,
                    "count": 33 * n,
                    "bytes": None,
                    "work_ns": 117_000_000 * n,
                    "exposed_ns": 72_000_000 * n,
                    "wait_ns": None,
                    "transfer_ns": None,
                    "algbw_bytes_per_s": None,
                    "busbw_bytes_per_s": None,
                },
            ]
        ),
        "memory": listed(
            [
                {
                    "kind": "h2d",
                    "pageable": False,
                    "count": 2 * n,
                    "bytes": 67_000 * n,
                    "work_ns": 6_900_000 * n,
                    "exposed_ns": 6_200_000 * n,
                },
                {
                    "kind": "d2h",
                    "pageable": True,
                    "count": 3 * n,
                    "bytes": 12 * n,
                    "work_ns": 3_300_000 * n,
                    "exposed_ns": 3_200_000 * n,
                },
                {
                    "kind": "memset",
                    "pageable": None,
                    "count": 97 * n,
                    "bytes": 3_400_000 * n,
                    "work_ns": 210_000 * n,
                    "exposed_ns": 0,
                },
            ]
        ),
        "nvtx": listed(
            [
                {
                    "path": "forward / layer N / attention",
                    "domain": "default",
                    "count": 32 * n,
                    "open": 0,
                    "host_ns": 190_000_000 * n,
                    "projected_ns": 60_000_000 * n,
                    "work_ns": 61_000_000 * n,
                },
                {
                    "path": "optimizer",
                    "domain": "default",
                    "count": n,
                    "open": 1,
                    "host_ns": 30_000_000 * n,
                    "projected_ns": 24_000_000 * n,
                    "work_ns": 24_900_000 * n,
                },
            ]
        ),
        "api": listed(
            [
                {
                    "name": "cudaLaunchKernel_v7000",
                    "count": 6_418 * n,
                    "total_ns": 60_000_000 * n,
                    "median_ns": 6_100,
                    "min_ns": 3_200,
                    "max_ns": 4_100_000,
                }
            ]
        ),
        "os_calls": {
            "status": "not_recorded",
            "reason": "OSRT_API is absent; add `--trace=osrt`",
            "total": 0,
            "shown": 0,
            "items": [],
        },
        "launch": {
            "status": "ok",
            "lambda": 0.41,
            "queue_depth_median": 212,
            "graph_launches": 0,
            "graph_launch_ns": 0,
            "kernels_in_graphs": 0,
        },
        "data_loading": {
            "status": "ok",
            "per_step_ns": 31_200_000,
            "steps_affected": 4,
            "evidence": ["NVTX range DataLoader next()"],
        },
        "recompute": {
            "status": "ok",
            "rho": 2.0,
            "recompute_ns": phase["recompute"],
            "source": "nvtx",
        },
        "efficiency": dict(NOT_BUILT),
        "gpu_memory": {
            "status": "not_recorded",
            "reason": "no memory events; add `--cuda-memory-usage=true`",
        },
        "amortised": [{"kind": "checkpoint", "count": 1, "ns_each": 4_100_000_000}],
        "mfu": {
            "status": "ok",
            "mfu": 0.191,
            "hfu": 0.255,
            "convention": "6N, no attention, N = 7.00e9",
            "flops_per_token": 4.2e10,
            "tokens_per_s_per_gpu": 4_500.0,
            "peak_flops": 9.894e14,
            "peak_source": "table: H100 SXM",
            "dtype": "bf16",
            "checks": [
                {
                    "id": "peak",
                    "verdict": "ok",
                    "text": "peak is dense bf16 for this device (989.4 TFLOP/s)",
                },
                {
                    "id": "tokens",
                    "verdict": "ok",
                    "text": "tokens per step ÷ world is whole (4,096)",
                },
                {
                    "id": "profiled",
                    "verdict": "unknown",
                    "text": "unprofiled step time: give `step_time_ms` to learn how much profiling slowed the run",
                },
            ],
            "waterfall": [
                {"name": "mfu", "frac": 0.191},
                {"name": "recompute", "frac": 0.064},
                {"name": "tensor_inefficiency", "frac": 0.106},
                {"name": "non_tensor_compute", "frac": 0.187},
                {"name": "exposed_comm", "frac": 0.288},
                {"name": "pipeline_bubble", "frac": 0.0},
                {"name": "exposed_mem", "frac": 0.01},
                {"name": "graph_opaque", "frac": 0.0},
                {"name": "idle", "frac": 0.154},
            ],
        },
        "timeline": _timeline(found, [kept[0]["index"], kept[4]["index"]], layers, seed)
        if n > 4
        else dict(NOT_BUILT),
        "findings": findings,
    }


def minimal() -> Document:
    """Return what a first version may write: one window, no steps, nothing else built."""
    document = full()
    whole = buckets([10_000_000, 0, 0, 0, 0, 30_000_000])
    document["lane"] |= {
        "rank": None,
        "rank_source": "unknown",
        "label": "capture-pid7-gpu0",
        "host": None,
        "gpu": None,
        "gpu_source": None,
    }
    document["capture"] |= {
        "nsys_version": None,
        "schema_version": None,
        "utc_start_ns": None,
        "warnings": [],
        "tables": {"CUPTI_ACTIVITY_KIND_KERNEL": "present"},
    }
    document["steps"] = {
        "status": "ok",
        "source": "none",
        "pattern": None,
        "confidence": 0.1,
        "kept": 1,
        "dropped": [],
        "median_ns": 40_000_000,
        "period_ns": 40_000_000,
        "items": [
            {
                "index": 0,
                "number": None,
                "start_ns": 0,
                "end_ns": 40_000_000,
                "kept": True,
                "outlier": False,
                "flags": [],
                "buckets": whole,
            }
        ],
    }
    document["buckets"] = whole
    document["overlap"] = {
        "status": "not_applicable",
        "reason": "no communication",
        "comm_ns": 0,
        "overlapped_ns": 0,
        "exposed_ns": 0,
        "opaque_ns": 0,
        "overlap_frac": None,
    }
    document["causes"] = {
        "idle": _split(30_000_000, IDLE_CAUSES, {"idle_unattributed": 1}),
        "exposed_comm": dict.fromkeys(EXPOSED_COMM_PARTS, 0),
        "compute": {"other": 10_000_000},
        "phase": _split(
            10_000_000,
            ("forward", "recompute", "backward", "optimizer", "other", "unknown"),
            {"unknown": 1},
        ),
    }
    document["attribution"] = {
        "status": "ok",
        "unattributed_ns": 30_000_000,
        "unattributed_frac": 0.75,
        "verdict": "incomplete",
    }
    document["categories"] = {
        name: {
            "ns": 30_000_000 * (name == "measurement") + 10_000_000 * (name == "kernel_efficiency"),
            "frac": {"measurement": 0.75, "kernel_efficiency": 0.25}.get(name, 0.0),
            "finding": None,
        }
        for name in CATEGORIES
    }
    for name in [
        "gaps",
        "syncs",
        "streams",
        "collectives",
        "memory",
        "nvtx",
        "api",
        "os_calls",
        "launch",
        "data_loading",
        "recompute",
        "efficiency",
        "gpu_memory",
        "kernels",
        "mfu",
        "timeline",
    ]:
        document[name] = dict(NOT_BUILT)
    document["findings"], document["amortised"] = [], []
    return document


def hostile() -> Document:
    """Return a full document in which every text from a trace is an attack."""
    document = full()
    bad = list(HOSTILE.values())
    document["lane"] |= {
        "file": "run/<b>rank0</b>.sqlite" + HOSTILE["script"],
        "host": HOSTILE["img"],
        "label": HOSTILE["id"],
        "rank": None,
    }
    document["lane"]["gpu"]["name"] = HOSTILE["svg"]
    document["capture"]["warnings"] = [
        {"severity": "warning", "text": text, "count": 1} for text in bad
    ]
    document["capture"]["nsys_version"] = HOSTILE["script"]
    document["capture"]["tables"][HOSTILE["script"]] = "present"
    row = document["kernels"]["top"][0]
    document["kernels"]["top"] = [
        {**row, "name": text, "short_name": text, "work_ns": row["work_ns"] + at}
        for at, text in enumerate(bad)
    ]
    document["kernels"]["unclassified"] = [
        {"name": text, "count": 1, "work_ns": 10**9} for text in bad
    ]
    path = document["nvtx"]["items"][0]
    document["nvtx"] = listed([{**path, "path": text, "domain": text} for text in bad])
    call = document["api"]["items"][0]
    document["api"] = listed([{**call, "name": text} for text in bad])
    sync = document["syncs"]["items"][0]
    document["syncs"] = listed(
        [{**sync, "api": text, "nvtx_path": text, "callsite": text} for text in bad]
    )
    gap = document["gaps"]["top"][0]
    document["gaps"]["top"] = [{**gap, "next_op": text, "evidence": text} for text in bad]
    comm = document["collectives"]["items"][0]
    document["collectives"] = listed([{**comm, "communicator": text} for text in bad])
    document["timeline"]["names"] = bad[: len(document["timeline"]["names"])]
    for step in document["timeline"]["steps"]:
        for lane, text in zip(step["rows"], bad, strict=False):
            lane["label"] = text
    document["findings"] = [
        {
            **finding,
            "id": text,
            "title": text,
            "why": text,
            "fix": text,
            "verify": text,
            "evidence": [text, {"text": text, "table": text}],
        }
        for finding, text in zip(document["findings"] * 3, bad, strict=False)
    ]
    document["steps"] |= {
        "pattern": HOSTILE["script"],
        "dropped": [{**row, "reason": HOSTILE["img"]} for row in document["steps"]["dropped"]],
    }
    document["mfu"] |= {
        "convention": HOSTILE["script"],
        "dtype": HOSTILE["img"],
        "peak_source": HOSTILE["svg"],
    }
    document["mfu"]["checks"] = [
        {"id": text, "verdict": "suspicious", "text": text} for text in bad
    ]
    document["os_calls"]["reason"] = HOSTILE["script"]
    document["recompute"]["source"] = HOSTILE["img"]
    return document


def huge() -> Document:
    """Return what 2 M kernels, 200 k texts, 20 k names and 10,000 steps leave in a document."""
    document = full(steps=10_000, layers=4_000)
    draw = random.Random(7)
    row = document["kernels"]["top"][0]
    document["kernels"] |= {
        "total": 20_000,
        "top": [
            {
                **row,
                "name": f"void kernel_{at}<" + "".join(draw.choices("abcdefgh, <>", k=3_500)) + ">",
                "work_ns": 10**11 - at,
            }
            for at in range(200)
        ],
    }
    path = document["nvtx"]["items"][0]
    document["nvtx"] = listed(
        [
            {**path, "path": f"{at} " + "".join(draw.choices("abcdefgh/ ", k=900))}
            for at in range(200)
        ],
        200_000,
    )
    call, gap, sync = (
        document["api"]["items"][0],
        document["gaps"]["top"][0],
        document["syncs"]["items"][0],
    )
    document["api"] = listed([{**call, "name": f"call_{at}_" + "x" * 300} for at in range(200)])
    document["gaps"]["top"] = [{**gap, "next_op": row["name"] * 20} for _ in range(100)]
    document["syncs"] = listed([{**sync, "nvtx_path": "p / " * 200} for _ in range(200)])
    step = document["timeline"]["steps"][0]
    document["timeline"]["steps"] = [
        copy.deepcopy({**step, "index": step["index"] + at}) for at in range(5)
    ]
    return document


def result(ranks: list[Document], **run: Any) -> Document:
    """Return the result document of some rank documents, with nothing measured across ranks."""
    return {
        "schema": 1,
        "tool": {"version": "0.1.0"},
        "run": {
            "name": "llama7b-fsdp",
            "ranks_expected": None,
            "ranks_usable": len(ranks),
            "missing_ranks": None,
            "conflicts": [],
            "several_jobs": None,
            "inputs": [
                {
                    "file": doc["lane"]["file"],
                    "status": "ok",
                    "stage": None,
                    "message": None,
                    "hint": None,
                }
                for doc in ranks
            ],
            **run,
        },
        "ranks": [_summary(doc) for doc in ranks],
        "alignment": {
            "status": "not_aligned",
            "reason": "not built yet",
            "method": None,
            "residual_ns": None,
            "offsets": [],
        },
        "collectives": dict(NOT_BUILT),
        "stragglers": dict(NOT_BUILT),
        "walk": dict(NOT_BUILT),
        "categories": None,
        "mfu": dict(NOT_BUILT),
        "findings": [],
    }


def _summary(document: Document) -> Document:
    lane, steps = document["lane"], document["steps"]
    found = [finding for finding in document["findings"] if finding["status"] == "opportunity"]
    return {
        **{
            key: lane[key]
            for key in ("label", "rank", "rank_source", "file", "host", "pid", "device")
        },
        "gpu_name": (lane["gpu"] or {}).get("name"),
        "page": f"rank-{lane['label']}.html",
        "result": f"rank-{lane['label']}.json",
        "steps_kept": steps["kept"],
        "period_ns": steps["period_ns"],
        "step_ns": [item["end_ns"] - item["start_ns"] for item in steps["items"] if item["kept"]][
            :512
        ],
        "buckets": document["buckets"],
        "causes": document["causes"],
        "mfu": document["mfu"].get("mfu"),
        "top_finding": found[0]["title"] if found else None,
    }


def job(count: int, steps: int = 12) -> Document:
    """Return a job of ``count`` ranks with a late rank, a missing one, a failed file and a walk."""
    base = full(0, steps, layers=2)
    made = []
    for rank in range(count):
        document = full(rank, steps, layers=2) if count <= 16 else base
        row = _summary(document)
        if count > 16:
            row = copy.deepcopy(row) | {
                "rank": rank,
                "label": f"{rank:04d}",
                "host": f"host-{rank // 8 + 1}",
                "device": rank % 8,
                "file": f"rank{rank}.sqlite",
                "page": f"rank-{rank:04d}.html",
            }
            draw = random.Random(rank)
            row["step_ns"] = [round(ns * draw.uniform(0.98, 1.03)) for ns in row["step_ns"]]
        if rank == 11:
            moved = row["buckets"]["idle"] // 2
            row["buckets"] = {
                **row["buckets"],
                "idle": row["buckets"]["idle"] - moved,
                "compute_only": row["buckets"]["compute_only"] + moved,
            }
            row["step_ns"] = [ns * 12 // 10 for ns in row["step_ns"]]
        made.append(row)
    document = result([base])
    document["ranks"] = made
    expected = count + 2 if count > 1 else None
    document["run"] |= {
        "ranks_expected": expected,
        "ranks_usable": count,
        "missing_ranks": [count, count + 1] if expected else None,
        "inputs": [
            {"file": row["file"], "status": "ok", "stage": None, "message": None, "hint": None}
            for row in made
        ]
        + (
            [
                {
                    "file": f"rank{count}.sqlite",
                    "status": "failed",
                    "stage": "open",
                    "message": "not an SQLite file: it begins with zeros",
                    "hint": "export it again",
                }
            ]
            if expected
            else []
        ),
    }
    if count > 1:
        _across(document, made)
    return document


def _across(document: Document, ranks: list[Document]) -> None:
    """Add the sections that compare ranks."""
    labels = [row["label"] for row in ranks]
    late = labels[min(11, len(labels) - 1)]
    costs = (
        ("compute_only", None, 441_600_000),
        ("compute_comm_overlap", None, 107_300_000),
        ("exposed_comm", "transfer_gated", 196_300_000),
        ("exposed_mem", None, 5_900_000),
        ("idle", "host_sync", 61_200_000),
        ("idle", "data_loading", 47_500_000),
        ("idle", "launch_bound", 33_800_000),
        ("exposed_comm", "wait_unresolved", 16_600_000),
    )
    items = []
    for bucket, cause, ns in costs:
        most = ns * 6 // 10
        items.append({"label": late, "bucket": bucket, "cause": cause, "ns": most})
        items.append({"label": labels[0], "bucket": bucket, "cause": cause, "ns": ns - most})
    document["walk"] = {
        "status": "ok",
        "steps": list(range(41, 50)),
        "step_ns": sum(row["ns"] for row in items),
        "items": items,
    }
    document["stragglers"] = listed(
        [
            {
                "label": late,
                "rank": min(11, len(labels) - 1),
                "verdict": "straggler",
                "last_frac": 0.87,
                "median_late_ns": 1_310_000,
                "gain_bound_ns_per_step": 46_000_000,
                "cause": "slow compute: the same kernels, 1.09 × longer",
                "evidence": ["last in 87 % of 1,944 instances", "SM clock not recorded"],
            }
        ]
    )
    document["collectives"] = {
        "status": "ok",
        "matched_frac": 0.986,
        "groups": [
            {
                "communicator": "fsdp-64",
                "kind": "fsdp",
                "members": labels,
                "hosts": sorted({row["host"] for row in ranks}),
                "instances": 120_528,
                "wait_ns": 5_400_000_000,
                "transfer_ns": 14_200_000_000,
                "median_late": [{"label": late, "ns": 1_310_000}],
                "last_share": [{"label": late, "frac": 0.87}],
            }
        ],
    }
    document["alignment"] = {
        "status": "aligned",
        "method": "alternating medians on collective ends",
        "residual_ns": 2_100,
        "offsets": [
            {"file": row["file"], "offset_ns": 1_000 * at} for at, row in enumerate(ranks[:8])
        ],
    }
    document["findings"] = [
        {**finding, "ranks": [0, 1, 2]}
        for finding in _findings({"start_ns": 0, "dur_ns": 1})
        if finding["category"] != "data_loading"
    ]
    document["categories"] = full(layers=2)["categories"]
    document["mfu"] = full(layers=2)["mfu"]
