"""Findings on data, communication and the computation itself."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from nsysflow.findings.base import Answer, Lane, Question, bytes_text, code, plain, unavailable

TENSOR_CLASSES = ("gemm", "attention", "conv", "fused_comm_gemm")
# Above a quarter of the step outside tensor kernels, fusing is worth a look.
MUCH_NON_TENSOR = 0.25
MUCH_OFF_TENSOR_CORES = 0.05
MUCH_EXPOSED = 0.03
RECOMPUTED = 1.05
MOST_EVIDENCE = 3
WAITING = "Exposed communication is waiting for other ranks, not moving bytes"
LATE = "Communication is exposed while the host is late too: no saving there"
# Products of 64 bit numbers by their names; a float beside it may be what is converted to.
DOUBLE = re.compile(
    r"(?i)\b(?:cu)?double(?:[234]|complex)?\b|float64|f64|(?<![a-z])[dz](?:gem[mv]|syrk|trsm|884)"
)
SAME_STREAM = "Collectives share a stream with compute and hide behind nothing"
LOADER = "--trace=cuda,nvtx,osrt and an NVTX range around next(loader)"


def _data(lane: Lane) -> Answer:
    section = lane.section("data_loading")
    if section["status"] != "ok":
        return unavailable(section["reason"], LOADER)
    text = (
        f"{section['steps_affected']} of {lane.kept} steps wait, "
        f"{lane.per_step(lane.idle['data_loading'])} of idle GPU per step on average"
    )
    if lane.idle["data_loading"]:
        return Answer(lane.idle["data_loading"], (text, *_workers(section)))
    if reason := _deaf(lane):
        return unavailable(reason, LOADER)
    return Answer(0)


def _deaf(lane: Lane) -> str | None:
    """Return why a wait for data would have left no trace, None where it would."""
    if not lane.lacks("NVTX_EVENTS"):
        return None
    if lane.lacks("OSRT_API"):
        return "neither annotated ranges nor operating-system calls were recorded to tell it from"
    # Calls that wait are taken for a loader's only where a step begins.
    if lane.document["steps"]["source"] == "none":
        return "no steps and no annotated ranges were recorded to tell it from"
    return None


def _workers(section: Mapping[str, Any]) -> tuple[str, ...]:
    """Name the threads that load, or say that none is named so."""
    workers = section["workers"]
    if workers is None:
        return ()
    if not workers:
        return ("no thread is named like a loader: batches may be made on the launching thread",)
    named = ", ".join(
        f"{row['count']} {row['name']}{'' if row['own'] else ' (in processes without a GPU)'}"
        for row in workers
    )
    return (f"loader threads: {named}",)


def _copies(lane: Lane) -> Answer:
    rows = [row for row in lane.items("memory") if row["exposed_ns"] and row["kind"] != "p2p"]
    evidence = tuple({"text": _copy_text(lane, r), "table": "memory"} for r in rows[:MOST_EVIDENCE])
    return Answer(lane.document["buckets"]["exposed_mem"], evidence)


def _copy_text(lane: Lane, row: Mapping[str, Any]) -> str:
    pageable = " with a pageable side" if row["pageable"] else ""
    return (
        f"{plain(row['kind'])}{pageable}: n {row['count']:,}, {bytes_text(row['bytes'])} in all, "
        f"{lane.per_step(row['exposed_ns'])} exposed per step"
    )


def _communication(lane: Lane) -> Answer:
    parts = lane.document["causes"]["exposed_comm"]
    gated = parts["transfer_gated"] + parts["unsplit_gated"]
    overlap = lane.section("overlap")
    if not overlap["comm_ns"] and not overlap["opaque_ns"]:
        return Answer(0, ("no communication ran in the kept steps",))
    same = overlap.get("same_stream_ns") or 0
    evidence: list[Any] = []
    if same:
        text = f"{lane.per_step(same)} per step on streams that also compute: nothing can hide it"
        evidence.append({"text": text, "table": "streams"})
    late = parts["transfer_host_late"] + parts["unsplit_host_late"]
    if late:
        text = f"another {lane.per_step(late)} per step the host was late too: no saving there"
        evidence.append(text)
    rows = [row for row in lane.items("collectives") if row["exposed_ns"]]
    evidence += [
        {
            "text": f"{plain(row['op'])}: {lane.per_step(row['exposed_ns'])} exposed per step, "
            f"n {row['count']:,}",
            "table": "collectives",
        }
        for row in rows[:2]
    ]
    split = not parts["unsplit_gated"]
    if not split:
        evidence.append("waiting for other ranks and moving bytes could not be told apart")
    much = gated > MUCH_EXPOSED * lane.window_ns
    title = SAME_STREAM if 2 * same > gated else None
    waits = parts["wait_gated"] + parts["wait_host_late"]
    calm = LATE if late > MUCH_EXPOSED * lane.window_ns else None
    calm = WAITING if waits > late + gated else calm
    return Answer(
        gated,
        tuple(evidence),
        fires=much,
        title=title,
        calm=calm,
        direct=split,
        capture="" if split else None,
    )


def _recompute(lane: Lane) -> Answer:
    section = lane.section("recompute")
    if section["status"] != "ok":
        return unavailable(section["reason"], "--pytorch=autograd-nvtx")
    rho, ns = section["rho"], section["recompute_ns"]
    count = f"{rho or 0:.3g} attention forward kernels per backward kernel"
    text = () if rho is None else (count,)
    if ns is None and rho is not None and rho > RECOMPUTED:
        reason = f"{count}: layers are recomputed, for how long no range tells"
        return unavailable(reason, "--pytorch=autograd-nvtx")
    return Answer(ns or 0, text, trade_off=_memory(lane))


def _memory(lane: Lane) -> str:
    section = lane.section("gpu_memory")
    peak, total = section.get("peak_bytes"), section.get("total_bytes")
    if peak is None or total is None:
        return "Needs GPU memory; how much is free was not recorded (--cuda-memory-usage=true)."
    return f"Needs GPU memory: the peak was {bytes_text(peak)} of {bytes_text(total)}."


def _non_tensor(lane: Lane) -> Answer:
    compute = lane.document["causes"]["compute"]
    others = {name: ns for name, ns in compute.items() if name not in TENSOR_CLASSES and ns}
    total = sum(others.values())
    largest = sorted(others.items(), key=lambda item: (-item[1], item[0]))[:MOST_EVIDENCE]
    text = tuple(f"{plain(name)} kernels: {lane.per_step(ns)} per step" for name, ns in largest)
    text += _runs(lane)
    much = total > MUCH_NON_TENSOR * lane.window_ns
    return Answer(total, text, fires=much, direct=False, trade_off=_memory(lane))


def _runs(lane: Lane) -> tuple[str, ...]:
    section = lane.section("efficiency")
    chains = section["chains"] if section["status"] == "ok" else {"count": 0}
    if not chains["count"]:
        return ()
    return (
        f"{chains['count']} runs of {chains['kernels'] / chains['count']:.3g} such kernels one "
        f"after another, {lane.per_step(chains['work_ns'])} of work per step",
    )


def _wave_tail(lane: Lane) -> Answer:
    section = lane.section("efficiency")
    if section["status"] != "ok" or section["tail_lost_ns"] is None:
        reason = section.get("limits_reason") or section["reason"]
        return unavailable(reason, "--trace=cuda where the GPU can be asked for its limits")
    rows = [row for row in section["items"] if row["lost_ns"]]
    rows.sort(key=lambda row: (-row["lost_ns"], row["name"], row["grid"]))
    text = tuple(
        {
            "text": f"{row['short_name']}: {row['grid']} blocks in {row['waves']:.3g} waves, "
            f"{lane.per_step(row['lost_ns'])} per step",
            "table": "efficiency",
        }
        for row in rows[:MOST_EVIDENCE]
    )
    return Answer(section["tail_lost_ns"], text, direct=False)


def _off_tensor_cores(lane: Lane) -> Answer:
    rows = [
        row
        for row in lane.top("kernels")
        if row["class"] in TENSOR_CLASSES and row["tensor_core"] == "no"
    ]
    total = sum(row["work_ns"] for row in rows)
    text: tuple[Any, ...] = tuple(
        {
            "text": f"{code(row['short_name'])}: {lane.per_step(row['work_ns'])} per step",
            "table": "kernels",
        }
        for row in rows[:MOST_EVIDENCE]
    )
    much = total > MUCH_OFF_TENSOR_CORES * lane.window_ns
    double = sum(row["work_ns"] for row in rows if DOUBLE.search(row["name"]))
    if 2 * double > total:
        return _in_double(Answer(total, text, fires=much, direct=False))
    if double:
        text += (f"{lane.per_step(double)} per step of it in double precision: no gain from TF32",)
    return Answer(total, text, fires=much, direct=False)


def _in_double(found: Answer) -> Answer:
    """Advise what helps products of 64 bit numbers, which no switch of float32's touches."""
    return replace(
        found,
        title="Matrix products run in double precision, off the tensor cores",
        why="Most GPUs multiply doubles at a small fraction of their float32 rate; those that have "
        "tensor cores for doubles were not made to use them here.",
        fix="Compute in float32 or less where the results allow: look for arrays that became "
        "float64 by default. Where doubles are needed, batch matrix-vector products into matrix "
        "products, and use a GPU with tensor cores for doubles. TF32 changes nothing here.",
        trade_off="Lower precision changes numerics: compare results.",
        verify="The names of the largest products no longer say double.",
        experiment="Run once in float32 and compare time and results.",
    )


QUESTIONS = (
    Question(
        id="data_loading",
        needs=("data_loading",),
        category="data_loading",
        bucket="data_loading",
        claim="The GPU waits for the next batch",
        calm="The GPU does not wait for data",
        why="A step cannot begin without its batch; nothing else can run meanwhile.",
        fix="More loader workers, a larger prefetch factor, persistent workers, pre-tokenised "
        "data, a local cache of remote files.",
        trade_off="Workers take host memory and cores.",
        verify="The idle time before the first kernel of a step is gone.",
        experiment="Train on one batch kept in memory: if the step shrinks by the bound, loading "
        "is the cause.",
        capture=LOADER,
        answer=_data,
    ),
    Question(
        id="exposed_mem",
        needs=("memory",),
        category="data_loading",
        bucket="exposed_mem",
        claim="Copies run while nothing is computed",
        calm="Copies are hidden or small",
        why="A copy that no kernel hides stops the step; a pageable one stops the host as well.",
        fix="Pin the buffers and copy the next batch with `non_blocking=True` on its own stream; "
        "keep tensors on the device.",
        trade_off="Pinned memory cannot be swapped.",
        verify="Exposed time in the table of copies falls.",
        answer=_copies,
    ),
    Question(
        id="exposed_comm",
        needs=("overlap", "collectives"),
        category="exposed_communication",
        bucket="exposed_comm",
        claim="Collectives hold the GPU up with nothing to hide them",
        calm="Communication is hidden or small",
        why="The next kernel was already asked for and waits for the collective to end.",
        fix="Prefetch all-gathers forward and backward, overlap gradient reduction, enlarge wrap "
        "units or buckets, keep tensor parallelism inside a node; across nodes shard within a node "
        "and replicate between.",
        trade_off="Prefetching and larger buckets hold more memory.",
        verify="The overlap share rises and exposed time falls.",
        experiment="Run the same step with the collective replaced by a no-op of equal shape: the "
        "step shrinks by at most the bound.",
        capture="--trace=cuda,nvtx,nccl on all ranks (tells waiting from transfer)",
        answer=_communication,
    ),
    Question(
        id="recompute",
        needs=("recompute", "gpu_memory"),
        category="recomputation",
        claim="Forward layers are computed a second time",
        calm="No notable recomputation",
        why="Recomputed kernels cost time that no token sees.",
        fix="Recompute only attention, or fewer layers, as far as memory allows.",
        verify="The recomputed share of compute falls; peak memory stays below the limit.",
        experiment="Turn recomputation off for half of the layers and compare time per token.",
        answer=_recompute,
    ),
    Question(
        id="non_tensor_compute",
        needs=("gpu_memory", "efficiency"),
        category="kernel_efficiency",
        claim="Much of the step is computed outside tensor kernels",
        calm="Kernels off the tensor cores take less than a quarter of the step",
        why="Element-wise, normalisation and copy kernels move bytes; tensor cores stand still.",
        fix="torch.compile, fused normalisation, rotary, activation and loss kernels, flash "
        "attention, a fused optimizer; a larger micro-batch.",
        verify="The share of element-wise and copy kernels falls.",
        experiment="Compile one block: its chain of small kernels becomes one.",
        capture="--pytorch=autograd-shapes-nvtx for shapes; kernel counters on the top three names",
        answer=_non_tensor,
    ),
    Question(
        id="wave_tail",
        needs=("efficiency",),
        category="kernel_efficiency",
        claim="Large kernels end in a wave that leaves much of the GPU empty",
        calm="The last waves of large kernels are full enough",
        why="Blocks run in rounds; in the last one the multiprocessors without a block stand still "
        "until the others are done.",
        fix="Sizes and micro-batches whose blocks fill whole rounds: multiples of 128 in every "
        "dimension, a vocabulary padded to 128, stream-K or split-K products.",
        trade_off="A larger micro-batch needs memory; padding computes what nobody needs.",
        verify="The kernel's share in use over its waves rises.",
        experiment="Change the micro-batch by one: if time per token jumps with the number of "
        "waves, the last one was the cause.",
        answer=_wave_tail,
    ),
    Question(
        id="off_tensor_cores",
        needs=("kernels",),
        category="kernel_efficiency",
        claim="Matrix products run off the tensor cores",
        calm="Matrix products use tensor cores as far as names tell",
        why="float32 and skinny products run at a fraction of the tensor rate.",
        fix="bf16 or TF32 (`torch.set_float32_matmul_precision('high')`); sizes that are multiples "
        "of 8, better 64; batch small products.",
        trade_off="Lower precision changes numerics: watch the loss.",
        verify="The names of the largest products change to tensor-core ones.",
        experiment="Allow TF32 for one run and compare time per token and loss.",
        answer=_off_tensor_cores,
    ),
)
