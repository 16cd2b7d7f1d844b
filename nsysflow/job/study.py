"""Everything that is known across ranks before anything is judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nsysflow.job.clocks import Capture, Clocks, align
from nsysflow.job.exposed import Exposed, cut, read_exposed
from nsysflow.job.instances import Members
from nsysflow.job.kinds import kinds, peers, stages
from nsysflow.job.lanes import NEVER, NONE, OP, Flags, Ints, JobLane, Ops, read_ops
from nsysflow.job.layout import Layout
from nsysflow.job.matching import Matching, anchors, by_communicator, is_numbered
from nsysflow.job.places import misplaced
from nsysflow.job.streams import by_stream
from nsysflow.job.waits import Waits, split

# Below this share of matched collectives nothing is claimed across ranks.
MATCHED = 0.80


@dataclass(frozen=True)
class Study:
    """The job's collectives, clocks and waits; ``first_op`` is where each lane's ops begin.

    ``kind`` per group, ``kind_source`` what says so; ``stage`` and ``peer`` per lane (equal
    ``peer``: same work); ``matched`` counts the matched collectives of the common kept steps and
    all of them; ``doubt`` says why none of the matches is believed, ``apart`` that no step was
    captured on all lanes; both None if all is well.
    """

    lanes: tuple[JobLane, ...]
    ops: Ops
    anchor: Ints
    found: Matching
    members: Members
    clocks: Clocks
    waits: Waits
    kind: tuple[str, ...]
    kind_source: tuple[str | None, ...]
    stage: tuple[int, ...]
    peer: tuple[int, ...]
    first_op: Ints
    bubble: Flags
    matched: tuple[int, int]
    doubt: str | None = None
    apart: str | None = None

    @property
    def trusted(self) -> bool:
        """Whether enough is matched for claims across ranks."""
        matched, whole = self.matched
        return whole > 0 and matched >= MATCHED * whole and self.doubt is None

    def exposed(self, lane: int) -> tuple[Exposed, Ints]:
        """Return a lane's exposed communication, cut into parts."""
        found = read_exposed(self.lanes[lane], int(self.first_op[lane]))
        return cut(found, self.waits.until, self.bubble)

    def trace(self, lane: int) -> int:
        """Return the file of a lane."""
        return self.lanes[lane].trace


def study(
    lanes: Sequence[JobLane],
    captures: Sequence[Capture],
    *,
    missing: bool,
    layout: Layout | None = None,
) -> Study:
    """Match, align and split.

    Args:
        lanes: the lanes; ``trace`` numbers ``captures``.
        captures: one per file.
        missing: ranks of the job are not here.
        layout: how the user says that ranks share the work.
    """
    ops = read_ops(lanes)
    anchor = anchors(ops, lanes)
    found = by_communicator(ops, anchor)
    by_stream(ops, lanes, anchor, found, [captures[lane.trace].utc_ns for lane in lanes])
    members = Members.of(found, ops)
    clocks = align(ops, lanes, members, captures)
    trace = np.array([lane.trace for lane in lanes], np.int64)
    waits = split(ops, trace[ops["lane"]], (found, members), clocks, missing=missing)
    kind_of = kinds(ops, lanes, found, layout)
    kind = [name for name, _ in kind_of]
    stage = stages(ops, lanes, found, kind, layout)
    matched = _matched(ops, anchor, found)
    apart = _apart(ops, anchor, lanes) if is_numbered(ops, lanes) else None
    doubt = None
    if not is_numbered(ops, lanes) and None not in {capture.utc_ns for capture in captures}:
        doubt = misplaced(ops, (found, members), clocks, trace[ops["lane"]], captures)
    if matched[0] < MATCHED * matched[1] or doubt:
        waits.until[:] = NEVER
    pipelines = [number for number, name in enumerate(kind) if name == "pp"]
    bubble = np.isin(found.group_of, pipelines) & (ops["op"] == OP["send_recv"])
    first = np.searchsorted(ops["lane"], np.arange(len(lanes)))
    return Study(
        tuple(lanes), ops, anchor, found, members, clocks, waits,
        tuple(kind), tuple(source for _, source in kind_of),
        tuple(stage), tuple(peers(lanes, stage)), first, bubble, matched, doubt, apart,
    )  # fmt: skip


def _apart(ops: Ops, anchor: Ints, lanes: Sequence[JobLane]) -> str | None:
    """Say so where lanes that communicate have no step number in common."""
    some = ops["comm"] != NONE
    some = some & (ops["ranks"] != 1) & (ops["step"] != NONE)
    pairs = np.unique(np.stack([ops["lane"][some], anchor[some]]), axis=1)
    steps: dict[int, set[int]] = {}
    for lane, number in pairs.T.tolist():
        steps.setdefault(lane, set()).add(number)
    if len(steps) < 2 or set.intersection(*steps.values()):  # noqa: PLR2004 - nothing to compare
        return None
    ends = [(min(each), max(each), lanes[lane].label) for lane, each in sorted(steps.items())]
    first, other = min(ends), max(ends)
    return (
        f"the ranks have no step number in common: {first[2]} has steps {first[0]} to {first[1]}, "
        f"{other[2]} {other[0]} to {other[1]}"
    )


def _matched(ops: Ops, anchor: Ints, found: Matching) -> tuple[int, int]:
    """Count what is matched, over the kept steps that every lane with collectives saw."""
    some = ops.owned & ~found.alone
    pairs = np.unique(np.stack([anchor[some], ops["lane"][some]]), axis=1)
    steps, count = np.unique(pairs[0], return_counts=True)
    shared = steps[count == len(np.unique(pairs[1]))]
    inside = some & np.isin(anchor, shared) if len(shared) else some
    return int((inside & (found.instance != NONE)).sum()), int(inside.sum())
