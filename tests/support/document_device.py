"""Invented kernels and an invented timeline."""

from __future__ import annotations

import random
from typing import Any

from nsysflow.render.timeline_marks import CLASSES
from tests.support.document_parts import Document, rows

FLASH = (
    "void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<Flash_bwd_kernel_traits<128, 64, 128, 8, "
    "4, 4, 4, false, false, cutlass::bfloat16_t>, false, true>(Flash_bwd_params)"
)
NORM = "void vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, const c10::BFloat16*)"
UNARY = "void at::native::vectorized_elementwise_kernel<4, at::native::AUnaryFunctor<float>>(int)"
ADAM = "multi_tensor_apply_kernel<TensorListMetadata<4>, FusedAdamMathFunctor<float>>"
GATHER = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
MYSTERY = "triton_poi_fused_mystery_12"
# name, class, tensor core, count and work per step, median; by work
KERNELS = (
    (GATHER, "comm", "no", 64, 241_000_000, 3_700_000),
    ("nvjet_tst_192x192_64x4_2x1_v_bz_coopA_TNT", "gemm", "yes", 448, 131_200_000, 291_000),
    ("nvjet_tst_128x256_64x4_1x2_h_bz_coopB_NTN", "gemm", "yes", 512, 96_400_000, 187_000),
    (FLASH, "attention", "yes", 32, 36_800_000, 1_150_000),
    (NORM, "norm", "no", 260, 31_900_000, 122_000),
    (ADAM, "optimizer", "no", 276, 24_900_000, 81_000),
    ("unrolled_elementwise_kernel<direct_copy>", "copy", "no", 1024, 17_700_000, 16_000),
    (UNARY, "elementwise", "no", 64, 14_100_000, 220_000),
    (MYSTERY, "other", "unknown", 456, 5_500_000, 11_000),
    ("(other)", "other", "unknown", 40, 900_000, 22_000),
)


def kernels_of(n: int) -> Document:
    """Return the kernels of ``n`` kept steps."""
    top, by_class = [], {}
    for name, kind, tensor, count, work, median in KERNELS:
        short = name.split("<")[0].split("(")[0] or name
        times = (count * n, work * n, median, median * 4 // 5, median * 3 // 2)
        top += rows(
            "name short_name class tensor_core count work_ns median_ns min_ns max_ns",
            (name, short, kind, tensor, *times),
        )
        held = by_class.setdefault(kind, [0, 0])
        held[0] += count * n
        held[1] += work * n
    classes = [(kind, count, work, work * 95 // 100) for kind, (count, work) in by_class.items()]
    return {
        "status": "ok",
        "classes": rows("class count work_ns busy_ns", *classes),
        "top": top,
        "total": 211,
        "shown": len(top),
        "unclassified": rows("name count work_ns", (MYSTERY, 456 * n, 5_500_000 * n)),
    }


LABELS = {
    "nvtx": ("Phase (NVTX)", "nvtx"),
    "state": ("GPU state", "state"),
    "compute": ("Stream 7, compute", "stream"),
    "comm": ("Stream 20, AllGather", "stream"),
    "copies": ("Copies", "copies"),
    "idle": ("Idle, by cause", "idle"),
    "host": ("Main: CUDA calls", "host"),
}
NAMES = (
    "forward",
    "backward",
    "optimizer",
    "gemm_kernel",
    "norm_kernel",
    "AllGather",
    "cudaLaunchKernel",
    "cudaStreamSynchronize",
    "loader",
)
IDLE = ("host_sync", "launch_bound", "micro_gap", "idle_unattributed")
Marks = dict[str, list[list[float]]]


def timeline_of(steps: Document, shown: list[int], layers: int, seed: int) -> Document:
    """Return a timeline of some steps, each of ``layers`` equal parts after its loader."""
    draw = random.Random(seed)  # noqa: S311
    made = []
    for index in shown:
        item = steps["items"][index]
        dur = item["end_ns"] - item["start_ns"]
        marks = _marks(dur, layers, draw)
        made.append(
            {
                "index": index,
                "bin_ns": dur // 2200,
                "merged": 0,
                "rows": [
                    {"label": label, "kind": kind, "marks": sorted(marks[key])}
                    for key, (label, kind) in LABELS.items()
                ],
            }
        )
    return {
        "status": "ok",
        "t0_ns": steps["items"][shown[0]]["start_ns"],
        "classes": list(CLASSES),
        "names": list(NAMES),
        "steps": made,
    }


def _mark(start: int, dur: int, kind: str, name: str | None = None, **more: Any) -> list[float]:
    place = NAMES.index(name) if name else -1
    return [start, dur, CLASSES.index(kind), place, more.get("n", 1), more.get("share", 1)]


def _marks(dur: int, layers: int, draw: random.Random) -> Marks:
    loader = dur // 30
    turn = loader + dur // 3
    end = turn + dur // 2
    marks: Marks = {key: [] for key in LABELS}
    marks["nvtx"] = [
        _mark(0, loader, "range", "loader"),
        _mark(loader, turn - loader, "range", "forward"),
        _mark(turn, end - turn, "range", "backward"),
        _mark(end, dur - end, "range", "optimizer"),
    ]
    marks["state"].append(_mark(0, loader, "idle"))
    marks["idle"].append(_mark(0, loader, "data_loading"))
    marks["copies"].append(_mark(loader - 4_000_000, 4_000_000, "copy"))
    each = (dur - loader) // layers
    for layer in range(layers):
        _layer(marks, loader + layer * each, each, layer, draw)
    return marks


def _layer(marks: Marks, at: int, each: int, layer: int, draw: random.Random) -> None:
    compute = round(each * draw.uniform(0.45, 0.6))
    comm = round(each * draw.uniform(0.25, 0.35))
    rest, done = each - compute - comm, at + compute
    marks["compute"] += [
        _mark(at, compute * 7 // 10, "tensor", "gemm_kernel"),
        _mark(at + compute * 7 // 10, compute * 3 // 10, "kernel", "norm_kernel"),
    ]
    marks["comm"] += [
        _mark(done - comm // 3, comm // 3, "hidden", "AllGather"),
        _mark(done, comm // 4, "wait", "AllGather"),
        _mark(done + comm // 4, comm - comm // 4, "transfer", "AllGather"),
    ]
    marks["state"] += [
        _mark(at, compute, "compute_only"),
        _mark(done, comm, "exposed_comm"),
        _mark(done + comm, rest, "idle"),
    ]
    marks["idle"].append(_mark(done + comm, rest, IDLE[layer % len(IDLE)]))
    launched = at - each // 3 if layer else at
    marks["host"] += [
        _mark(launched, each // 5, "launch", "cudaLaunchKernel", n=12, share=0.8),
        _mark(done, rest, "blocking", "cudaStreamSynchronize"),
    ]
