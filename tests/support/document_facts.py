"""The parts of an invented rank document that are plain facts."""

from __future__ import annotations

from tests.support.document_parts import NOT_BUILT, USUAL, Document, buckets, rows


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
        },
        "recompute": {"status": "ok", "rho": 2.0, "recompute_ns": 954_700_000, "source": "nvtx"},
        "efficiency": dict(NOT_BUILT),
        "gpu_memory": {"status": "not_recorded", "reason": lack},
        "amortised": [{"kind": "checkpoint", "count": 1, "ns_each": 4_100_000_000}],
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
