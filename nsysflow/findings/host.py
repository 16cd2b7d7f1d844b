"""Findings on the host: waits, launching, allocation, loading and other work of the program."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nsysflow.findings.base import (
    Answer,
    Lane,
    Question,
    bytes_text,
    code,
    plain,
    time_text,
    unavailable,
)

MOST_EVIDENCE = 3
SLOW_HOST = 1.0
STARVED_QUEUE = 1
CALLS = "CUPTI_ACTIVITY_KIND_RUNTIME"
SCHED = "SCHED_EVENTS"
SCHED_FLAG = "--cpuctxsw=process-tree"


def _sync(lane: Lane) -> Answer:
    rows = [row for row in lane.items("syncs") if row["idle_caused_ns"]]
    return Answer(
        lane.idle["host_sync"],
        tuple({"text": _sync_text(lane, row), "table": "syncs"} for row in rows[:MOST_EVIDENCE]),
        capture=None if any(row["callsite"] for row in rows) else SYNC_CAPTURE,
    )


def _sync_text(lane: Lane, row: Mapping[str, Any]) -> str:
    copied = ""
    if row["bytes"] and row["count"]:
        copied = (
            f" of {bytes_text(row['bytes'] // row['count'])} {plain(row['copy_kind'])}".rstrip()
        )
    inside = row["callsite"] or row["nvtx_path"]
    place = f" in {code(inside)}" if inside else ""
    often = f"{row['per_step']:g} per step" if row["per_step"] is not None else f"{row['count']}"
    if not row["count"]:
        # It holds up a kept step that did not make it.
        often = "called outside the kept steps"
    return (
        f"{code(row['api'])}{copied}, {often}{place}: "
        f"{lane.per_step(row['idle_caused_ns'])} of idle GPU per step"
    )


def _launch(lane: Lane) -> Answer:
    parts = {name: lane.idle[name] for name in ("launch_bound", "launch_latency", "micro_gap")}
    launch = lane.section("launch")
    pace, depth = launch["lambda"], launch["queue_depth_median"]
    text = [
        f"{lane.per_step(parts['launch_bound'])} per step the host is still issuing, "
        f"{lane.per_step(parts['launch_latency'])} between a call and its kernel, "
        f"{lane.per_step(parts['micro_gap'])} between queued kernels"
    ]
    if pace is not None:
        text.append(f"launching takes {pace:.3g} times as long as the median kernel runs")
    if depth is not None:
        text.append(f"kernels queued or running at a launch, median: {depth}")
    slow = (pace or 0) > SLOW_HOST or (depth is not None and depth <= STARVED_QUEUE)
    return Answer(sum(parts.values()), tuple(text), fires=slow)


def _cause(*causes: str, needs: str | None = None, flag: str = "") -> Callable[[Lane], Answer]:
    """Return an answer whose bound is idle time under some causes."""

    def answer(lane: Lane) -> Answer:
        total = sum(lane.idle[cause] for cause in causes)
        if not total and needs is not None and lane.lacks(needs):
            return unavailable(f"the capture has no {code(needs)} table to tell it from", flag)
        gaps = [gap for gap in lane.top("gaps") if gap["cause"] in causes]
        return Answer(total, tuple(gap_text(gap) for gap in gaps[:MOST_EVIDENCE]))

    return answer


def _contention(lane: Lane) -> Answer:
    if not lane.lacks(SCHED) and not lane.document["capture"]["thread_states"]:
        reason = (
            "thread scheduling was recorded without the states of the threads: a wait for a core "
            "looks like any other"
        )
        return unavailable(reason, SCHED_FLAG)
    return _cause("cpu_contention", needs=SCHED, flag=SCHED_FLAG)(lane)


def gap_text(gap: Mapping[str, Any]) -> dict[str, Any]:
    """Write one gap as evidence."""
    before = f" before {code(gap['next_op'])}" if gap["next_op"] else ""
    what = f" ({gap['evidence']})" if gap["evidence"] else ""
    return {
        "text": f"{time_text(gap['dur_ns'])} idle{before}{what}",
        "table": "gaps",
        "at": {"start_ns": gap["start_ns"], "dur_ns": gap["dur_ns"]},
    }


SYNC_CAPTURE = "--python-backtrace=cuda --cudabacktrace=all (names the line that waits)"

QUESTIONS = (
    Question(
        id="host_sync",
        needs=("syncs",),
        category="host_overhead",
        bucket="host_sync",
        claim="The host waits for the GPU, and then the GPU for the host",
        calm="Waiting calls of the host cost no notable GPU time",
        why="While the host waits it launches nothing: the queue drains and the GPU falls idle "
        "until it is filled again.",
        fix="Take .item(), print(loss), .cpu() and nonzero() out of the step, or fetch values "
        "every n steps with a `non_blocking` copy into pinned memory.",
        trade_off="Logged values arrive some steps late.",
        verify="The call's row under host waits is gone, and idle time falls by about its share.",
        experiment="Log every 100 steps instead of every step: if the step shrinks, the wait was "
        "the cause; if not, something else holds the host.",
        capture=None,
        answer=_sync,
    ),
    Question(
        id="launch_bound",
        needs=("launch",),
        category="host_overhead",
        bucket="launch_bound",
        claim="The host cannot launch kernels as fast as the GPU runs them",
        calm="The host launches fast enough",
        why="A GPU that finishes kernels faster than they are launched waits between them.",
        fix="Replay CUDA graphs or compile the model, use a fused or foreach optimizer, enlarge "
        "the micro-batch, pin threads to the GPU's NUMA node.",
        trade_off="Graphs need static shapes; compiling costs start-up time and easy debugging; a "
        "larger micro-batch needs memory.",
        verify="Queue depth at launch rises well above 1 and launch-bound idle falls.",
        experiment="Double the micro-batch: if time per token falls towards half of the idle, the "
        "host was the limit.",
        capture="repeat without --pytorch=autograd-nvtx: annotating slows the host itself",
        answer=_launch,
    ),
    Question(
        id="host_other_nvtx",
        needs=("gaps",),
        category="host_overhead",
        bucket="host_other_nvtx",
        claim="The program does other work while the GPU waits",
        calm="No annotated work of the program holds the GPU up",
        why="What runs on the launching thread between launches delays the next kernel.",
        fix="Move the work off the launching thread, or overlap it with queued kernels.",
        verify="The gaps named here close.",
        experiment="Skip the work for one run: the step shrinks by at most the bound.",
        answer=_cause("host_other_nvtx", needs="NVTX_EVENTS", flag="--trace=nvtx"),
    ),
    Question(
        id="cuda_malloc_free",
        needs=("gaps",),
        category="host_overhead",
        bucket="cuda_malloc_free",
        claim="Allocating GPU memory stops the step",
        calm="Allocation costs no notable time",
        why="cudaMalloc and cudaFree block the host, and cudaFree waits for the whole device.",
        fix="Keep shapes stable, set `expandable_segments`, raise the allocator's limits, allocate "
        "before the loop.",
        trade_off="Caching allocators hold memory that others cannot use.",
        verify="No allocation call is left in the kept steps.",
        experiment="Run with one fixed sequence length: if the calls vanish, shapes cause them.",
        answer=_cause("cuda_malloc_free", needs=CALLS, flag="--trace=cuda"),
    ),
    Question(
        id="jit_or_load",
        needs=("gaps",),
        category="host_overhead",
        bucket="jit_or_load",
        claim="Kernels are loaded or compiled inside the step",
        calm="Nothing is loaded or compiled in the kept steps",
        why="Module loading, compilation and graph capture block the launching thread.",
        fix="Warm up every shape before the loop, cache compiled kernels, mark dynamic sizes; "
        "set CUDA_MODULE_LOADING=EAGER for a test.",
        verify="The first launches of a kernel fall into warm-up steps.",
        experiment="Capture later: if the share falls with the step number it was warm-up.",
        answer=_cause("jit_or_load", needs=CALLS, flag="--trace=cuda"),
    ),
    Question(
        id="gc",
        needs=("gaps",),
        category="host_overhead",
        bucket="gc",
        claim="Garbage collection stops the launching thread",
        calm="No garbage collection was seen to hold the GPU up",
        why="A collection pauses Python, at another step on each rank, and the others wait.",
        fix="gc.disable(), and collect every n steps on all ranks together; gc.freeze() first.",
        trade_off="Memory of reference cycles is held until the next collection.",
        verify="No gap lies under a collection range.",
        answer=_cause(
            "gc", needs="NVTX_EVENTS", flag="--trace=nvtx with a range around gc.collect"
        ),
    ),
    Question(
        id="gil_wait",
        needs=("gaps",),
        category="host_overhead",
        bucket="gil_wait",
        claim="The launching thread waits for the interpreter lock",
        calm="No wait for the interpreter lock was seen",
        why="Threads of one process take turns in Python; the launching one waits its turn.",
        fix="Move data loading and logging into processes, not threads.",
        verify="Waits for the lock vanish from the gaps.",
        answer=_cause("gil_wait", needs="NVTX_EVENTS", flag="--trace=python-gil"),
    ),
    Question(
        id="cpu_contention",
        needs=("gaps",),
        category="host_overhead",
        bucket="cpu_contention",
        claim="The launching thread is ready to run and has no core",
        calm="The launching thread was not seen to wait for a core",
        why="A thread that lost its core launches nothing until it gets one again.",
        fix="Fewer loader workers and OpenMP threads than cores, one process per GPU pinned to "
        "cores of its NUMA node, no other work on the machine.",
        trade_off="Fewer workers may be too few to load data.",
        verify="Stretches without a core vanish from the gaps.",
        experiment="Halve the loader workers and OMP_NUM_THREADS: if the step shrinks, cores were "
        "short; if loading takes over, they were not.",
        capture="--cpuctxsw=process-tree",
        answer=_contention,
    ),
    Question(
        id="logging",
        needs=("gaps",),
        category="host_overhead",
        bucket="logging",
        claim="Logging holds the launching thread up",
        calm="Logging costs no notable GPU time",
        why="Writing metrics from the training thread delays the next launch.",
        fix="Log from another thread or every n steps.",
        verify="No gap lies under a logging range.",
        answer=_cause("logging", needs="NVTX_EVENTS", flag="--trace=nvtx"),
    ),
    Question(
        id="comm_host",
        needs=("gaps",),
        category="host_overhead",
        bucket="comm_host",
        claim="The host is held up inside the communication library",
        calm="Host calls of the communication library cost no notable time",
        why="Creating communicators and waiting at stores or barriers blocks the launching thread.",
        fix="Create communicators before the loop; remove barriers from the step.",
        verify="No gap lies under a call of the communication library.",
        answer=_cause("comm_host", needs="NVTX_EVENTS", flag="--trace=nvtx"),
    ),
)
