"""Findings on the measurement itself: what was not explained, and what the capture lacks."""

from __future__ import annotations

from nsysflow.findings.base import Answer, Lane, Question, code, time_text

MOST_EXAMPLES = 3
# What tells of the host, and the word of --trace that records it.
WIDER = {"CUPTI_ACTIVITY_KIND_RUNTIME": "cuda", "NVTX_EVENTS": "nvtx", "OSRT_API": "osrt"}
NOTABLE = 0.02


def _unattributed(lane: Lane) -> Answer:
    total = lane.idle["idle_unattributed"]
    gaps = [g for g in lane.top("gaps") if g["cause"] == "idle_unattributed"]
    examples = tuple(
        {
            "text": f"{time_text(gap['dur_ns'])} idle before "
            f"{code(gap['next_op'] or '') or 'the end'}",
            "table": "gaps",
            "at": {"start_ns": gap["start_ns"], "dur_ns": gap["dur_ns"]},
        }
        for gap in gaps[:MOST_EXAMPLES]
    )
    notable = total > NOTABLE * lane.window_ns
    return Answer(
        total,
        examples,
        status="info" if notable else "ok",
        capture=_wider(lane),
    )


def _wider(lane: Lane) -> str:
    """Return what would tell more of the host: all of it in one --trace, as the last one counts."""
    missing = [table for table in WIDER if lane.lacks(table)]
    if not missing:
        return "--sample=process-tree --python-sampling=true"
    operators = " --pytorch=autograd-nvtx" if "NVTX_EVENTS" in missing else ""
    return f"--trace={','.join(WIDER.values())}{operators}"


def _queued(lane: Lane) -> Answer:
    total = lane.idle["queued_unexplained"]
    notable = total > NOTABLE * lane.window_ns
    return Answer(total, status="info" if notable else "ok", direct=False)


def _opaque(lane: Lane) -> Answer:
    total = lane.document["buckets"]["graph_opaque"]
    rows = lane.document["capture"]["counts"]["graph_rows"]
    text = (f"{rows} graph replays were traced as a whole",) if rows else ()
    return Answer(total, text, status="info" if total else "ok")


def _profiler(lane: Lane) -> Answer:
    total = lane.idle["profiler_overhead"]
    return Answer(total, status="info" if total > NOTABLE * lane.window_ns else "ok")


def _pauses(lane: Lane) -> Answer:
    total = lane.idle["checkpoint"] + lane.idle["eval"]
    return Answer(total, status="info" if total > NOTABLE * lane.window_ns else "ok")


def _mfu(lane: Lane) -> Answer:
    section = lane.section("mfu")
    bad = [check for check in section["checks"] if check["verdict"] in ("wrong", "suspicious")]
    if bad:
        return Answer(status="info", evidence=tuple(check["text"] for check in bad))
    if section["status"] == "withheld":
        return Answer(status="unavailable", reason=section["reason"])
    return Answer(status="ok")


def _steps(lane: Lane) -> Answer:
    if lane.document["steps"]["source"] == "none":
        note = lane.document["steps"].get("note")
        evidence = (note,) if note else ()
        if not lane.chosen:
            return Answer(status="info", evidence=evidence, direct=False)
        return Answer(
            status="info",
            evidence=evidence,
            title="No whole step lies in the chosen time: figures cover just that time",
            why="A part of a step stands for no other part of it.",
            fix="For figures per step choose --from and --to around several steps, or leave both "
            "out.",
            direct=False,
            capture="",
        )
    return Answer(status="ok")


QUESTIONS = (
    Question(
        id="mfu_inputs",
        category="measurement",
        claim="The MFU figure does not fit its inputs",
        calm="Nothing speaks against the MFU figure",
        why="Against a wrong peak, token count or parameter count every share of peak is wrong.",
        fix="Correct [model] and [gpu] in nsysflow.toml first; rank nothing by MFU before that.",
        verify="The checks on the MFU card pass.",
        needs=("mfu",),
        answer=_mfu,
    ),
    Question(
        id="steps",
        category="measurement",
        claim="No training steps were found: figures cover the whole capture",
        calm="Training steps were found",
        why="Without steps start-up and clean-up count as if they were training.",
        fix="Put an NVTX range 'step N' around each step, or name one with --step-range.",
        verify="Steps are listed on the page.",
        capture="an NVTX range around each step, 8 to 12 steps after warm-up",
        answer=_steps,
    ),
    Question(
        id="idle_unattributed",
        needs=("gaps",),
        category="measurement",
        bucket="idle_unattributed",
        claim="Idle time without a recorded cause",
        calm="Nearly all idle time has a recorded cause",
        why="What the host did was not recorded, so nothing can be advised.",
        fix="Capture again with the evidence that is missing.",
        verify="The unexplained share falls below a tenth.",
        answer=_unattributed,
    ),
    Question(
        id="queued_unexplained",
        category="measurement",
        bucket="queued_unexplained",
        claim="Queued kernels wait on the device for a reason not recorded",
        calm="Queued kernels start without notable delay",
        why="The kernel had been launched; an event, another context or the device held it.",
        fix="Look at event waits between streams around the longest of these gaps.",
        verify="The share falls, or dependencies are named.",
        capture="--cuda-event-trace=true for one extra run (it may slow overlap), --gpuctxsw=true",
        answer=_queued,
    ),
    Question(
        id="graph_opaque",
        category="measurement",
        bucket="graph_opaque",
        claim="CUDA graphs were traced as a whole: their kernels are not seen",
        calm="No opaque CUDA graphs",
        why="Inside a graph compute, communication and idle time cannot be told apart.",
        fix="Capture with node tracing.",
        verify="Kernels of the graphs appear in the kernel table.",
        capture="--cuda-graph-trace=node",
        answer=_opaque,
    ),
    Question(
        id="profiler_overhead",
        category="measurement",
        bucket="profiler_overhead",
        claim="The profiler itself holds the step up",
        calm="The profiler's own cost is small",
        why="Times are perturbed: compare with the unprofiled step time.",
        fix="Trace less, or capture fewer steps.",
        verify="Profiled and unprofiled step times agree within 5 %.",
        answer=_profiler,
    ),
    Question(
        id="pauses",
        category="measurement",
        claim="Checkpoints or evaluation fall into the kept steps",
        calm="No checkpoint or evaluation in the kept steps",
        why="They are paid once in many steps; here they count as if in each.",
        fix="State the cadence, or capture steps without them.",
        verify="The steps are listed as dropped.",
        answer=_pauses,
    ),
)
