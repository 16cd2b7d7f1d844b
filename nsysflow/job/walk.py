"""Walk backwards along what the job waited for; every instant goes to one rank and one cause.

From the end of the last kept step on the rank that ends last: where a rank waits for another the
walk goes over to that one, at the instant it arrived; all other time stays with the rank it is on.
Steps that follow each other are walked in one go, so nothing is charged twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from nsysflow.job.exposed import PART, cut
from nsysflow.job.lanes import NONE, Flags, Ints
from nsysflow.job.pieces import Pieces, read_pieces
from nsysflow.job.study import Study
from nsysflow.job.turns import turns
from nsysflow.model import EXPOSED_COMM_PARTS

Charge = dict[tuple[int, str, str | None], int]
_WAITS = (PART["wait_gated"], PART["wait_host_late"])
MOST_LANES_AT_HAND = 64
# As the lanes' pieces are cut.
LEAST_STRETCH_NS = 2_000


@dataclass(frozen=True)
class Run:
    """Consecutive steps that all walked lanes kept: per lane the first start and the last end."""

    numbers: tuple[int, ...]
    start: Ints
    end: Ints


@dataclass(frozen=True)
class _Time:
    """A lane's time: ``plain`` pieces, parts of exposed communication, jumps by time."""

    plain: Pieces
    exposed_start: Ints
    exposed_end: Ints
    part: Ints
    jump: Ints
    jump_op: Ints


@dataclass(frozen=True)
class Walk:
    """The charges by (lane, bucket, cause) over ``numbers`` steps; they sum to ``total_ns``."""

    numbers: tuple[int, ...]
    total_ns: int
    charge: Charge
    jumps: int


def walk(study: Study, runs: Sequence[Run]) -> Walk:
    """Walk all runs of steps."""
    time_of = lru_cache(MOST_LANES_AT_HAND)(lambda lane: _read(study, lane))
    charge: Charge = {}
    jumps = 0
    for run in runs:
        lane, time = _begin(study, run)
        jumped = False
        for _ in range(len(study.ops) + 1):
            mine = time_of(lane)
            floor = int(run.start[lane])
            place = int(np.searchsorted(mine.jump, time, side="left" if jumped else "right")) - 1
            if place < 0 or mine.jump[place] <= floor:
                _charge(charge, lane, mine, floor, time)
                break
            jump = int(mine.jump[place])
            _charge(charge, lane, mine, jump, time)
            target = int(mine.jump_op[place])
            lane, time = int(study.ops["lane"][target]), int(study.ops["start_ns"][target])
            jumped, jumps = True, jumps + 1
    numbers = tuple(number for run in runs for number in run.numbers)
    return Walk(numbers, sum(charge.values()), charge, jumps)


def _begin(study: Study, run: Run) -> tuple[int, int]:
    traces = np.array([lane.trace for lane in study.lanes], np.int64)
    ends = study.clocks.to_job(traces, run.end)
    lane = int(np.argmax(ends))
    return lane, int(run.end[lane])


def _read(study: Study, lane: int) -> _Time:
    """Read a lane's time.

    Its exposed communication is cut where the waiting of what held the lane up ended. Time is cut
    at the edges of all but the shortest stretches: from those nothing jumps.
    """
    exposed, held = turns(study, lane)
    # Work that was asked for in time goes on at once when what it waited for is there.
    known = (held.soon | (held.late & (held.op != NONE)))[held.of]
    owned = replace(exposed, op=np.where(known, held.op[held.of], exposed.op))
    parts, part = cut(owned, study.waits.until, study.bubble)
    waits: Flags = np.isin(part, (*_WAITS, PART["pipeline_bubble"]))
    waits &= known[np.searchsorted(exposed.start, parts.start, side="right") - 1]
    waits &= parts.whole_ns >= LEAST_STRETCH_NS
    waits &= parts.end == study.waits.until[parts.op]
    waits &= study.waits.for_op[parts.op] != NONE
    return _Time(
        read_pieces(study.lanes[lane].folder),
        parts.start,
        parts.end,
        part,
        parts.end[waits],
        study.waits.for_op[parts.op[waits]],
    )


def _charge(charge: Charge, lane: int, mine: _Time, low: int, high: int) -> None:
    """Charge the time of a lane in ``[low, high)``.

    Both are edges of pieces: the start of a collective or of the steps, or inside exposed time.
    """
    plain = mine.plain
    first, last = np.searchsorted(plain.start, [low, high], side="left")
    some = slice(int(first), int(last))
    sums = np.zeros(len(plain.parts), np.int64)
    np.add.at(sums, plain.part[some], plain.ns[some])
    for number in np.flatnonzero(sums):
        key = (lane, *plain.parts[number])
        charge[key] = charge.get(key, 0) + int(sums[number])
    first = np.searchsorted(mine.exposed_end, low, side="right")
    last = np.searchsorted(mine.exposed_start, high, side="left")
    some = slice(int(first), int(last))
    length = np.minimum(mine.exposed_end[some], high) - np.maximum(mine.exposed_start[some], low)
    for code in np.unique(mine.part[some]):
        name = "wait_unresolved" if code in _WAITS else EXPOSED_COMM_PARTS[code]
        key = (lane, "exposed_comm", name)
        ns = int(length[mine.part[some] == code].sum())
        charge[key] = charge.get(key, 0) + ns
