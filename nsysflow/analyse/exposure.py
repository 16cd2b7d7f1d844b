"""Cut exposed communication by whether removing it would help, and find exposed input copies."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nsysflow.analyse.attribute import PLACE, Evidence
from nsysflow.analyse.coverage import Coverage
from nsysflow.analyse.exposed import hiding
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.intervals import Ints, Spans, merge, minus, nothing, overlaps
from nsysflow.analyse.ops import NEVER, Ops, column
from nsysflow.analyse.workspace import Workspace

FAR = np.iinfo(np.int64).max
UNKNOWN = -1


def cut_exposed(work: Workspace, facts: Facts, evidence: Evidence) -> None:
    """Make ``exposed_comm_part`` (stretches, gated or host-late) and ``exposed_input`` (per step).

    Communication is gated if the next compute kernel had been asked for, so that without the
    collective it would run. While its launch has not begun the host is late too — unless the
    launching thread waits in a call that lasts until the collective ends: then the host is late
    because of the collective.
    """
    ops = facts.ops
    starts, launch, thread = _compute_begins(work, ops)
    comm, _, comm_end, comm_step = _segments(work, ops, "comm")
    after = np.searchsorted(starts, comm.start, side="left")
    late = _host_late(comm, comm_end, launch[after], thread[after], evidence)
    _keep_parts(work, comm, comm_step, late)
    _keep_input(work, facts, ops, starts)


def put_first_compute(work: Workspace, facts: Facts) -> None:
    """Make ``step_compute``: where the first compute kernel of each kept step begins."""
    start = facts.ops.start[facts.ops.long & facts.ops.is_compute]
    at = np.searchsorted(start, facts.kept.start)
    some = at < len(start)
    step = facts.kept.of[some].astype(np.int32)
    work.keep("step_compute", pa.table({"step": step, "start_ns": start[at[some]]}))


def _compute_begins(work: Workspace, ops: Ops) -> tuple[Ints, Ints, Ints]:
    """Return where the lane begins to compute, and the launch and thread that asked for it.

    One launch more stands for "no kernel follows": nothing was waited for on the host.
    """
    compute = np.flatnonzero(ops.long & ops.is_compute)
    begins = compute[Coverage.of(ops.start[compute], ops.end[compute]).begins()]
    launch, thread = (column(work, name)[begins] for name in ("launch_start_ns", "launch_thread"))
    thread = np.where(thread == NEVER, UNKNOWN, thread)
    return ops.start[begins], np.append(launch, NEVER), np.append(thread, UNKNOWN)


def _segments(work: Workspace, ops: Ops, state: str) -> tuple[Spans, Ints, Ints, Ints]:
    """Return the exposed stretches, and per owner: whether it is input, device end, step."""
    owners = work.arrow("exposed_owner", state=state)
    work.keep(f"{state}_owner", owners)
    start, end = owners["start_ns"].to_numpy(), owners["end_ns"].to_numpy()
    hidden_start, hidden_end = hiding(ops, state).stretches()
    hidden = Spans(hidden_start, hidden_end, np.zeros(len(hidden_start), np.int64))
    bare = minus(Spans(start, end, np.arange(len(start))), hidden)
    inputs = owners["input"].to_numpy(zero_copy_only=False)
    return bare, inputs, owners["op_end_ns"].to_numpy(), owners["step"].to_numpy()


def _host_late(comm: Spans, op_end: Ints, launch: Ints, thread: Ints, evidence: Evidence) -> Spans:
    late = Spans(comm.start, np.minimum(comm.end, launch), np.arange(len(comm)))
    late = late.take(late.end > late.start)
    excused = [nothing()]
    for each in np.unique(thread[late.of]):
        mine = late.take(thread[late.of] == each)
        waits = evidence.of([int(each)], PLACE["host_sync"])
        _, found, shared = overlaps(mine, waits)
        # The wait must outlast the collective: else something else kept the host.
        lasts = evidence.end[waits.of[found]] >= op_end[comm.of[shared.of]]
        excused.append(shared.take(lasts))
    return minus(late, merge(*excused))


def _keep_parts(work: Workspace, comm: Spans, step: Ints, late: Spans) -> None:
    """Keep every exposed stretch once; ``owner`` counts the rows of exposed_owner."""
    gated = minus(comm, late)
    late = Spans(late.start, late.end, comm.of[late.of])
    both = merge(gated, late)
    is_gated = merge(
        Spans(gated.start, gated.end, np.ones(len(gated), np.int64)),
        Spans(late.start, late.end, np.zeros(len(late), np.int64)),
    )
    table = pa.table(
        {
            "owner": both.of,
            "step": step[both.of],
            "start_ns": both.start,
            "end_ns": both.end,
            "gated": is_gated.of.astype(bool),
        }
    )
    work.keep("exposed_comm_part", table)


def _keep_input(work: Workspace, facts: Facts, ops: Ops, compute: Ints) -> None:
    """Input copies count as data loading until the step's first compute kernel."""
    bare, inputs, _, step = _segments(work, ops, "mem")
    kept = facts.kept
    # One start more stands for "no kernel follows".
    first = np.append(compute, FAR)[np.searchsorted(compute, kept.start)]
    place = np.searchsorted(kept.of, step[bare.of])
    limit = first[place]
    early = inputs[bare.of].astype(bool) & (bare.start < limit)
    table = pa.table({"step": step[bare.of][early], "ns": bare.length[early]})
    work.keep("exposed_input", table)
