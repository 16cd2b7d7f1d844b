"""The parts of an invented rank document that are plain facts."""

from __future__ import annotations

from tests.support.document_parts import USUAL, Document, buckets, rows


def lane_of(rank: int) -> Document:
    return {
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
    }


def capture_of(found: Document, steps: int) -> Document:
    activity = "CUPTI_ACTIVITY_KIND_"
    return {
        "status": "ok",
        "nsys_version": "2025.6.1",
        "schema_version": "3.25.2",
        "start_ns": 0,
        "end_ns": 12_400_000_000,
        "utc_start_ns": "1796133720000000000",
        "tables": {
            activity + "KERNEL": "present",
            activity + "MEMCPY": "present",
            activity + "RUNTIME": "present",
            activity + "SYNCHRONIZATION": "empty",
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
            "buckets": buckets([value * steps for value in USUAL]),
        },
        "warnings": rows(
            "severity text count",
            ("warning", "Not all NVTX events might have been collected.", 1),
        ),
        "thread_states": False,
        "dropped": {
            "no_timestamp": 0,
            "impossible_duration": 2,
            "open_ranges": 3,
            "undecodable_text": 0,
            "non_integer_cells": 0,
        },
    }


def facts_of() -> Document:
    lack = "no memory events; add `--cuda-memory-usage=true`"
    return {
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
            "workers": rows("name count own", ("pt_data_pin", 1, True)),
        },
        "recompute": {"status": "ok", "rho": 2.0, "recompute_ns": 954_700_000, "source": "nvtx"},
        "efficiency": efficiency_of(),
        "gpu_memory": {"status": "not_recorded", "reason": lack},
        "amortised": [{"kind": "checkpoint", "count": 1, "ns_each": 4_100_000_000}],
    }


def efficiency_of() -> Document:
    names = (
        "name short_name class grid block count work_ns waves tail_frac lost_ns sm_frac "
        "occupancy_frac limiter variation_frac hint"
    )
    wide = ("nvjet_tst_192x192", "nvjet_tst_192x192", "gemm", 400, 384, 1_792, 524_800_000)
    copy = ("unrolled_elementwise_kernel<direct_copy>", "unrolled_elementwise_kernel", "copy")
    items = rows(
        names,
        (*wide, 1.010101, 0.505051, 259_749_235, 1.0, 0.1875, "registers", 0.02, None),
        (*copy, 128, 128, 4_096, 70_800_000, None, None, None, 0.969697, 1.0, "warps", None, None),
    )
    runs = rows(
        "first last length count work_ns", ("direct_copy", "CUDAFunctor_add", 5, 1_024, 88_500_000)
    )
    return {
        "status": "ok",
        "tensor_rate_frac": 0.41,
        "tensor_rate_reason": None,
        "limits_reason": None,
        "tail_lost_ns": 259_749_235,
        "small": {
            "limit_ns": 10_000,
            "count": 2_100,
            "count_frac": 0.19,
            "work_ns": 9_100_000,
            "work_frac": 0.004,
        },
        "chains": {
            "count": 1_024,
            "kernels": 5_120,
            "work_ns": 88_500_000,
            "total": 1,
            "shown": 1,
            "items": runs,
        },
        "total": 2,
        "shown": 2,
        "items": items,
    }


def mfu_of() -> Document:
    given = "unprofiled step time: give `step_time_ms` to learn how much profiling slowed the run"
    return {
        "status": "ok",
        "mfu": 0.191,
        "hfu": 0.255,
        "convention": "6N, no attention, N = 7.00e9",
        "flops_per_token": 4.2e10,
        "tokens_per_s_per_gpu": 4_500.0,
        "peak_flops": 9.894e14,
        "peak_source": "table: H100 SXM",
        "dtype": "bf16",
        "checks": rows(
            "id verdict text",
            ("peak", "ok", "peak is dense bf16 for this device (989.4 TFLOP/s)"),
            ("tokens", "ok", "tokens per step ÷ world is whole (4,096)"),
            ("profiled", "unknown", given),
        ),
        "waterfall": rows(
            "name frac",
            ("mfu", 0.191),
            ("recompute", 0.064),
            ("tensor_inefficiency", 0.106),
            ("non_tensor_compute", 0.187),
            ("exposed_comm", 0.288),
            ("pipeline_bubble", 0.0),
            ("exposed_mem", 0.01),
            ("graph_opaque", 0.0),
            ("idle", 0.154),
        ),
    }
