"""Findings on queued work: what the host had asked for and the GPU did not begin."""

from __future__ import annotations

from nsysflow.findings.base import Answer, Lane, Question, unavailable
from nsysflow.findings.host import MOST_EVIDENCE, gap_text

EVENTS = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
SWITCHES = "GPU_CONTEXT_SWITCH_EVENTS"
EVENT_FLAG = (
    "--cuda-event-trace=true, in a capture of its own: tracing events can make streams wait for "
    "each other"
)


def _stalled(lane: Lane) -> Answer:
    return _queued(lane, "dependency_stall", EVENTS, EVENT_FLAG)


def _shared(lane: Lane) -> Answer:
    return _queued(lane, "gpu_shared", SWITCHES, "--gpuctxsw=true")


def _queued(lane: Lane, cause: str, table: str, flag: str) -> Answer:
    total = lane.idle[cause]
    if not total and lane.idle["queued_unexplained"] and lane.lacks(table):
        reason = f"queued kernels did not begin, and the capture has no {table} table to tell why"
        return unavailable(reason, flag)
    gaps = [gap for gap in lane.top("gaps") if gap["cause"] == cause]
    return Answer(total, tuple(gap_text(gap) for gap in gaps[:MOST_EVIDENCE]))


QUESTIONS = (
    Question(
        id="dependency_stall",
        needs=("gaps",),
        category="host_overhead",
        bucket="dependency_stall",
        claim="Queued kernels wait for an event of another stream or GPU",
        calm="No queued kernel was seen to wait for an event",
        why="A stream that waits for an event runs nothing until the work before the event is "
        "done, however early its own work was queued.",
        fix="Record the event right behind the work that is needed, wait for it only where its "
        "result is used, and give the work before it an earlier place in its stream.",
        verify="The gaps before the waiting kernels close.",
        experiment="Remove the wait for one run, whatever it computes: the step shrinks by at "
        "most the bound.",
        answer=_stalled,
    ),
    Question(
        id="gpu_shared",
        needs=("gaps",),
        category="host_overhead",
        bucket="gpu_shared",
        claim="Another process takes turns on this GPU",
        calm="No other process was seen to take the GPU away",
        why="While a context of another process has its turn, queued kernels of this one wait.",
        fix="Leave the GPU to one process, or let them share it through MPS or MIG slices.",
        trade_off="With MPS processes run side by side and slow each other down.",
        verify="No turn of another process lies in a gap.",
        experiment="Stop the other process for one run: the step shrinks by at most the bound.",
        answer=_shared,
    ),
)
