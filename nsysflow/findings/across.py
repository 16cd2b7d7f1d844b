"""What a rank pays for others: waiting in collectives and between pipeline stages."""

from __future__ import annotations

from nsysflow.findings.base import Answer, Lane, Question, plain, unavailable

CAPTURE = "--trace=cuda,nvtx,nccl on all ranks, the same steps on each"
NOTABLE = 0.02


def _waits(lane: Lane) -> Answer:
    parts = lane.document["causes"]["exposed_comm"]
    wait = parts["wait_gated"] + parts["wait_host_late"]
    unsplit = parts["unsplit_gated"] + parts["unsplit_host_late"]
    if unsplit > NOTABLE * lane.window_ns and unsplit > wait:
        reason = "waiting for other ranks could not be told from transfer"
        return unavailable(reason, CAPTURE)
    evidence = [
        {
            "text": f"{plain(row['op'])}: {lane.per_step(row['wait_ns'])} of waiting and "
            f"{lane.per_step(row['transfer_ns'])} of transfer per step, hidden parts included",
            "table": "collectives",
        }
        for row in lane.items("collectives")
        if row["wait_ns"]
    ]
    notable = wait > NOTABLE * lane.window_ns
    return Answer(wait, tuple(evidence[:3]), status="info" if notable else "ok")


def _bubble(lane: Lane) -> Answer:
    parts = lane.document["causes"]["exposed_comm"]
    bubble = parts["pipeline_bubble"]
    # A send that is not split may have waited for the stage beside, whatever else it was for.
    between = sum(
        row["exposed_ns"]
        for row in lane.items("collectives")
        if row["wait_ns"] is None
        and (row["kind"] == "pp" or (row["kind"] == "unknown" and row["op"] == "send_recv"))
    )
    unsplit = min(between, parts["unsplit_gated"] + parts["unsplit_host_late"])
    if unsplit > NOTABLE * lane.window_ns and unsplit > bubble:
        reason = "waiting between pipeline stages could not be told from transfer"
        return unavailable(reason, CAPTURE)
    return Answer(bubble, status="info" if bubble > NOTABLE * lane.window_ns else "ok")


QUESTIONS = (
    Question(
        id="waits_for_others",
        needs=("collectives",),
        category="stragglers",
        claim="This rank waits in collectives for others to arrive",
        calm="No notable waiting for other ranks",
        why="A collective ends when its last member has arrived; this rank came earlier.",
        fix="Nothing here: the job's page names who comes last, and why.",
        verify="The late rank's own page explains what it does before it arrives.",
        capture=CAPTURE,
        answer=_waits,
    ),
    Question(
        id="pipeline_bubble",
        needs=("collectives",),
        category="pipeline_bubble",
        claim="This stage waits for its neighbours in the pipeline",
        calm="No notable waiting between pipeline stages",
        why="A stage has nothing to do until a micro-batch comes.",
        fix="The job's page compares the bubble of all stages with theory.",
        verify="The bubble per stage falls towards theory.",
        answer=_bubble,
    ),
)
