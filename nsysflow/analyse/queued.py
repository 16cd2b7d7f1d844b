"""What held an op that the host had asked for: an event, another process, or nothing seen.

Only queued stretches above the device's own turn-around are asked about; each instant is claimed
once, by evidence that covers it, and the rest stays ``queued_unexplained``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from nsysflow.analyse.facts import Facts
from nsysflow.analyse.intervals import Ints, Spans, minus, overlaps
from nsysflow.analyse.workspace import Workspace

if TYPE_CHECKING:
    from nsysflow.rank import Lane

# In the order in which they claim an instant: cause and the stage of its evidence, whose rows are
# disjoint and by start.
EVIDENCE = {"dependency_stall": "queued_wait", "gpu_shared": "queued_turn"}
NO_NAME = -1


def claim_queued(work: Workspace, facts: Facts, lane: Lane) -> None:
    """Make ``queued_claim``, every stretch of the gaps that some evidence touches, and its view.

    ``queued_claim``: (gap, cause, start_ns, end_ns, name_id), where ``name_id`` is the kernel that
    was waited for, -1 where none is known.
    """
    micro_ns = work.row("micro_gap")["limit_ns"]
    first, last = facts.lanes
    work.table("queued_gap", micro_ns=micro_ns)
    work.table(
        "queued_wait", process=facts.process, lane=lane.lane, first_lane=first, last_lane=last
    )
    work.table("queued_turn", process=facts.process, pid=lane.pid, device=lane.device)
    work.keep("queued_claim", _claims(work, micro_ns))
    work.view("queued_part", micro_ns=micro_ns)


def _claims(work: Workspace, micro_ns: int) -> pa.Table:
    gap = work.kept("queued_gap")
    number, start = gap["gap"].to_numpy(), gap["start_ns"].to_numpy()
    left = Spans(start, gap["end_ns"].to_numpy(), np.arange(len(start)))
    touched = np.zeros(len(start), np.bool_)
    parts = []
    for cause, stage in EVIDENCE.items():
        table = work.kept(stage)
        starts, ends = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
        evidence = Spans(starts, ends, np.arange(len(starts)))
        names = table["name_id"].fill_null(NO_NAME).to_numpy(zero_copy_only=False)
        _, which, shared = overlaps(left, evidence)
        touched[shared.of] = True
        parts.append(_part(number, shared, cause, names[which]))
        left = minus(left, evidence) if len(shared) else left
    rest = left.take(touched[left.of])
    # What comes so soon after the end of a wait is the device's own turn-around.
    short = (rest.length <= micro_ns) & (rest.start > start[rest.of])
    for cause, some in (("micro_gap", short), ("queued_unexplained", ~short)):
        parts.append(_part(number, rest.take(some), cause, np.full(some.sum(), NO_NAME)))
    return pa.concat_tables(parts)


def _part(number: Ints, spans: Spans, cause: str, names: Ints) -> pa.Table:
    return pa.table(
        {
            "gap": number[spans.of],
            "cause": pa.array([cause] * len(spans), pa.string()),
            "start_ns": spans.start,
            "end_ns": spans.end,
            "name_id": names.astype(np.int64),
        }
    )
