"""Rank documents to draw, full and minimal; all numbers invented, all sums exact."""

from __future__ import annotations

from nsysflow.model import BUCKETS, CATEGORIES, EXPOSED_COMM_PARTS, IDLE_CAUSES, PHASES
from tests.support.document_device import kernels_of, timeline_of
from tests.support.document_facts import capture_of, facts_of, lane_of, mfu_of
from tests.support.document_parts import (
    NOT_BUILT,
    Document,
    buckets,
    findings_of,
    listed,
    rows,
    split,
    steps_of,
)

CAUSES = {
    "idle": (
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
    ),
    "exposed_comm": (
        EXPOSED_COMM_PARTS,
        {
            "wait_gated": 0.27,
            "transfer_host_late": 0.084,
            "unsplit_gated": 0.02,
            "transfer_gated": 0.626,
        },
    ),
    "compute": (
        ("attention", "gemm", "norm", "optimizer", "elementwise", "copy", "other"),
        {
            "gemm": 0.537,
            "attention": 0.122,
            "norm": 0.105,
            "elementwise": 0.13,
            "optimizer": 0.05,
            "copy": 0.043,
            "other": 0.013,
        },
    ),
    "phase": (
        PHASES,
        {
            "forward": 0.236,
            "recompute": 0.21,
            "optimizer": 0.05,
            "other": 0.013,
            "backward": 0.491,
        },
    ),
}
SHARES = {
    "exposed_communication": 0.2,
    "recomputation": 0.115,
    "host_overhead": 0.11,
    "data_loading": 0.034,
    "stragglers": 0.078,
    "measurement": 0.015,
    "kernel_efficiency": 0.448,
}


def causes_of(total: dict[str, int]) -> Document:
    computes = total["compute_only"] + total["compute_comm_overlap"]
    whole = {"idle": total["idle"], "exposed_comm": total["exposed_comm"]}
    return {
        name: split(whole.get(name, computes), names, weights)
        for name, (names, weights) in CAUSES.items()
    }


def full(rank: int = 3, steps: int = 12, layers: int = 32, seed: int | None = None) -> Document:
    """Return a rank document in which nearly every section is ok."""
    seed = rank if seed is None else seed
    found = steps_of(steps, seed)
    kept = [item for item in found["items"] if item["kept"]]
    total = {key: sum(item["buckets"][key] for item in kept) for key in ("window_ns", *BUCKETS)}
    gap = {"start_ns": kept[0]["start_ns"] + 800_000_000, "dur_ns": 28_500_000}
    shown = [kept[0]["index"], kept[min(4, len(kept) - 1)]["index"]]
    return {
        "schema": 1,
        "tool": {"version": "0.1.0"},
        "lane": lane_of(rank),
        "capture": capture_of(found, steps),
        "steps": found,
        "buckets": total,
        **_level_two(total),
        "gaps": _gaps(kept, gap, total["idle"]),
        **_host(len(kept)),
        "kernels": kernels_of(len(kept)),
        **_device(total, len(kept)),
        **facts_of(),
        "mfu": mfu_of(),
        "timeline": timeline_of(found, shown, layers, seed),
        "findings": findings_of(gap),
    }


def _level_two(total: dict[str, int]) -> Document:
    comm = total["compute_comm_overlap"] + total["exposed_comm"]
    causes = causes_of(total)
    lost = causes["idle"]["idle_unattributed"]
    shares = split(total["window_ns"], CATEGORIES, SHARES)
    named = {"exposed_communication": "exposed_transfer", "recomputation": "recompute"}
    return {
        "overlap": {
            "status": "ok",
            "comm_ns": comm,
            "overlapped_ns": total["compute_comm_overlap"],
            "exposed_ns": total["exposed_comm"],
            "opaque_ns": 0,
            "overlap_frac": round(total["compute_comm_overlap"] / comm, 6),
        },
        "causes": causes,
        "attribution": {
            "status": "ok",
            "unattributed_ns": lost,
            "unattributed_frac": round(lost / total["window_ns"], 6),
            "verdict": "good",
        },
        "categories": {
            name: {
                "ns": ns,
                "frac": round(ns / total["window_ns"], 6),
                "finding": named.get(name),
            }
            for name, ns in shares.items()
        },
    }


def _gaps(kept: list[Document], gap: Document, total_ns: int) -> Document:
    loader, copied = "DataLoader next()", "copy host to device"
    late, early, last = kept[4 % len(kept)], kept[1 % len(kept)], kept[-1]
    return {
        "status": "ok",
        "count": 3_912,
        "total_ns": total_ns,
        "total": 3_912,
        "shown": 4,
        "top": rows(
            "start_ns dur_ns cause step next_op evidence",
            (late["start_ns"], 72_600_000, "data_loading", late["index"], copied, loader),
            (early["start_ns"], 48_800_000, "data_loading", early["index"], copied, loader),
            (*gap.values(), "host_sync", kept[0]["index"], "unrolled_elementwise_kernel", None),
            (last["end_ns"] + 5, 18_900_000, "idle_unattributed", None, None, None),
        ),
    }


def _host(n: int) -> Document:
    wait = "cudaStreamSynchronize"
    syncs = rows(
        "api kind nvtx_path callsite count per_step host_ns idle_caused_ns bytes copy_kind",
        (wait, "item_copy", "logging", None, n, 1.0, 61_900_000 * n, 28_500_000 * n, 4, "d2h"),
        (
            wait,
            "stream_sync",
            "clip",
            "a.py:88",
            n,
            1.0,
            32_400_000 * n,
            11_300_000 * n,
            None,
            None,
        ),
        (
            "cudaEventSynchronize",
            "event_sync",
            None,
            None,
            32 * n,
            32.0,
            4_100_000 * n,
            0,
            None,
            None,
        ),
    )
    nvtx = rows(
        "path domain count open host_ns projected_ns work_ns",
        ("forward / layer N", "default", 32 * n, 0, 19 * 10**7 * n, 6 * 10**7 * n, 61 * 10**6 * n),
        ("optimizer", "default", n, 1, 30_000_000 * n, 24_000_000 * n, 24_900_000 * n),
    )
    api = rows(
        "name count total_ns median_ns min_ns max_ns",
        ("cudaLaunchKernel_v7000", 6_418 * n, 60_000_000 * n, 6_100, 3_200, 4_100_000),
    )
    lack = "OSRT_API is absent; add `--trace=osrt`"
    none = {"status": "not_recorded", "reason": lack, "total": 0, "shown": 0, "items": []}
    return {"syncs": listed(syncs), "nvtx": listed(nvtx), "api": listed(api), "os_calls": none}


def _device(total: dict[str, int], n: int) -> Document:
    streams = rows(
        "context stream role count busy_ns busy_frac",
        (1, 7, "compute", 51_000, total["compute_only"], 0.55),
        (1, 20, "comm", 873, total["exposed_comm"], 0.28),
        (1, 24, "mixed", 90, 9_000_000, 0.0002),
    )
    names = "op op_source communicator kind members count bytes work_ns exposed_ns wait_ns"
    gathered = (64, 64 * n, 53_687_091_200 * n, 241_000_000 * n, 190_000_000 * n, 52_000_000 * n)
    scattered = (None, 33 * n, None, 117_000_000 * n, 72_000_000 * n, None)
    collectives = rows(
        f"{names} transfer_ns algbw_bytes_per_s busbw_bytes_per_s",
        (
            "all_gather",
            "payload",
            "fsdp-64",
            "fsdp",
            *gathered,
            188 * 10**6 * n,
            976 * 10**8,
            961 * 10**8,
        ),
        ("reduce_scatter", "kernel_name", None, "unknown", *scattered, None, None, None),
    )
    memory = rows(
        "kind pageable count bytes work_ns exposed_ns",
        ("h2d", False, 2 * n, 67_000 * n, 6_900_000 * n, 6_200_000 * n),
        ("d2h", True, 3 * n, 12 * n, 3_300_000 * n, 3_200_000 * n),
        ("memset", None, 97 * n, 3_400_000 * n, 210_000 * n, 0),
    )
    return {
        "streams": listed(streams),
        "collectives": listed(collectives),
        "memory": listed(memory),
    }


def minimal() -> Document:
    """Return what a first version may write: one window, no steps, nothing else built."""
    document = full()
    whole = buckets([10_000_000, 0, 0, 0, 0, 30_000_000])
    unknown = {"rank": None, "rank_source": "unknown", "label": "capture-pid7-gpu0"}
    document["lane"] |= unknown | {"host": None, "gpu": None, "gpu_source": None}
    document["capture"] |= {
        "nsys_version": None,
        "schema_version": None,
        "utc_start_ns": None,
        "warnings": [],
        "tables": {"CUPTI_ACTIVITY_KIND_KERNEL": "present"},
    }
    item = {"index": 0, "number": None, "start_ns": 0, "end_ns": 40_000_000, "kept": True}
    document["steps"] |= {
        "source": "none",
        "pattern": None,
        "confidence": 0.1,
        "kept": 1,
        "dropped": [],
        "median_ns": 40_000_000,
        "period_ns": 40_000_000,
        "items": [item | {"outlier": False, "flags": [], "buckets": whole}],
    }
    document["buckets"] = whole
    zeros = dict.fromkeys(("comm_ns", "overlapped_ns", "exposed_ns", "opaque_ns"), 0)
    absent = {"status": "not_applicable", "reason": "no communication", "overlap_frac": None}
    document["overlap"] = zeros | absent
    document["causes"] = {
        "idle": split(30_000_000, IDLE_CAUSES, {"idle_unattributed": 1}),
        "exposed_comm": dict.fromkeys(EXPOSED_COMM_PARTS, 0),
        "compute": {"other": 10_000_000},
        "phase": split(10_000_000, PHASES, {"unknown": 1}),
    }
    document["attribution"] |= {
        "unattributed_ns": 30_000_000,
        "unattributed_frac": 0.75,
        "verdict": "incomplete",
    }
    known = {"measurement": (30_000_000, 0.75), "kernel_efficiency": (10_000_000, 0.25)}
    document["categories"] = {
        name: dict(zip(("ns", "frac", "finding"), (*known.get(name, (0, 0.0)), None), strict=True))
        for name in CATEGORIES
    }
    later = "gaps syncs streams collectives memory nvtx api os_calls launch data_loading recompute"
    for name in (*later.split(), "efficiency", "gpu_memory", "kernels", "mfu", "timeline"):
        document[name] = dict(NOT_BUILT)
    document["findings"], document["amortised"] = [], []
    return document
