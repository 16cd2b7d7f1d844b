"""What lanes did since the collective before: the time that makes one of them late to the next."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsysflow.job.exposed import PART
from nsysflow.job.lanes import NEVER, NONE, Ints
from nsysflow.job.pieces import read_pieces
from nsysflow.job.steps import Common, Vector, piece_name
from nsysflow.job.stragglers import Suspect
from nsysflow.job.study import Study

# Exposed communication of other communicators that stands in such an interval.
ELSEWHERE = "communication elsewhere"


@dataclass(frozen=True)
class Intervals:
    """Of each lane the same intervals, on its own clock: ``begin`` and ``end`` by lane."""

    begin: dict[int, Ints]
    end: dict[int, Ints]


def intervals(study: Study, common: Common, suspect: Suspect) -> Intervals:
    """Return the intervals that end with the suspect coming last, in the steps that show it.

    Each begins on every lane where its part of the communicator's collective before ended; the
    first ones of a capture, before which there is none, are left out.
    """
    members, ops = study.members, study.ops
    group = np.flatnonzero(study.found.group == suspect.group)
    rows = members.op[np.isin(members.at, group)]
    instance = study.found.instance[rows]
    lanes = np.unique(ops["lane"][rows])
    begin: dict[int, Ints] = {}
    end: dict[int, Ints] = {}
    last = _last(study, common, suspect, rows)
    for lane in lanes.tolist():
        mine = rows[ops["lane"][rows] == lane]
        mine = mine[np.argsort(ops["start_ns"][mine], kind="stable")]
        before = np.append(NONE, mine[:-1])
        place = {int(i): k for k, i in enumerate(study.found.instance[mine].tolist())}
        at = np.array([place.get(int(i), NONE) for i in instance[last]], np.int64)
        known = (at != NONE) & (before[at] != NONE)
        end[lane] = np.where(known, ops["start_ns"][mine[at]], NEVER)
        begin[lane] = _apart(np.where(known, ops["end_ns"][before[at]], NEVER), end[lane])
    return Intervals(begin, end)


def _apart(begin: Ints, end: Ints) -> Ints:
    """Begin each interval no sooner than those before it ended, or their time would count twice.

    On several streams the collective before may end while yet another interval is under way.
    """
    order = np.argsort(end, kind="stable")
    reached = np.maximum.accumulate(end[order])
    cut = begin.copy()
    cut[order[1:]] = np.maximum(begin[order[1:]], reached[:-1])
    return np.where(begin == NEVER, NEVER, cut)


def _last(study: Study, common: Common, suspect: Suspect, rows: Ints) -> Ints:
    """Return the rows in which the suspect came last, in the steps that show it."""
    ops = study.ops
    indexes = [common.step[suspect.lane][n].index for n in suspect.steps]
    own = (ops["lane"][rows] == suspect.lane) & study.waits.last[rows]
    found: Ints = np.flatnonzero(own & np.isin(ops["step"][rows], indexes))
    return found


def since(study: Study, lane: int, found: Intervals) -> Vector:
    """Return what a lane did in its intervals: ns by cause."""
    begin, end = found.begin[lane], found.end[lane]
    some = (begin != NEVER) & (end > begin)
    begin, end = begin[some], end[some]
    pieces = read_pieces(study.lanes[lane].folder)
    # Both ends are edges of collectives, at which pieces are cut.
    first, last = (np.searchsorted(pieces.start, edge, side="left") for edge in (begin, end))
    vector: Vector = {}
    for number, (bucket, cause) in enumerate(pieces.parts):
        total = np.append(0, np.cumsum(np.where(pieces.part == number, pieces.ns, 0)))
        name = cause or piece_name(bucket)
        vector[name] = vector.get(name, 0) + int((total[last] - total[first]).sum())
    vector[ELSEWHERE] = _elsewhere(study, lane, begin, end)
    return vector


def _elsewhere(study: Study, lane: int, begin: Ints, end: Ints) -> int:
    """Return the exposed communication inside intervals, without a pipeline's waiting."""
    parts, part = study.exposed(lane)
    some = part != PART["pipeline_bubble"]
    start, stop = parts.start[some], parts.end[some]
    total = np.append(0, np.cumsum(stop - start))

    def until(edge: Ints) -> Ints:
        place = np.searchsorted(start, edge, side="right")
        inside = np.maximum(0, np.append(stop, 0)[place - 1] - edge)
        found: Ints = total[place] - np.where(place > 0, inside, 0)
        return found

    return int((until(end) - until(begin)).sum())
