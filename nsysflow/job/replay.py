"""What a job gains if one rank keeps its peers' pace: its collectives played again.

The rank spends less. Every collective then ends as much earlier as the latest of those that it
waits for comes earlier, whichever that now is, and a rank that was held up by one goes on as much
earlier, at most to where its own work lets it. What else would hold a rank up that comes earlier is
not known from a trace, so the result is what mending the rank gains at most.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import compress, pairwise

import numpy as np

from nsysflow.job.lanes import NEVER, NONE, Ints
from nsysflow.job.meetings import meetings
from nsysflow.job.pieces import read_pieces
from nsysflow.job.steps import Common, piece_name
from nsysflow.job.study import Study
from nsysflow.job.turns import SOON_NS, turns
from nsysflow.job.walk import LEAST_STRETCH_NS, Run


@dataclass(frozen=True)
class Savings:
    """What a lane has saved by each instant of its clock: ``total`` in the pieces before."""

    start: Ints
    total: Ints

    @property
    def whole_ns(self) -> int:
        """Return all that is saved."""
        return int(self.total[-1])

    def before(self, time: int) -> int:
        """Return what is saved before ``time``, which is an edge of pieces."""
        return int(self.total[np.searchsorted(self.start, time, side="left")])


@dataclass
class _Lane:
    """The stretches in which collectives held a lane up, by time: each ends as ``op`` does.

    Where ``other`` ended as soon before the lane went on, nobody knows for which of them it waited.
    ``early`` is how much earlier the lane goes on after each of them, as far as is known by now.
    """

    begin: list[int]
    end: list[int]
    op: list[int]
    other: list[int]
    saved: Savings | None = None
    early: list[int] = field(default_factory=list)

    def at(self, time: int, moved: Sequence[int]) -> int:
        """Return how much earlier the lane is at ``time``; ``moved``: how much each op is."""
        count = bisect_right(self.end, time)
        while len(self.early) < count:
            turn = len(self.early)
            begin, end = self.begin[turn], self.end[turn]
            ready = self._since(turn, begin) + end - begin
            # Of two that may have held it the one that comes earlier: the gain is at most that.
            self.early.append(min(ready, max(moved[self.op[turn]], moved[self.other[turn]])))
        return self._since(count, time)

    def _since(self, count: int, time: int) -> int:
        early = self.early[count - 1] if count else 0
        if self.saved is None:
            return early
        before = self.end[count - 1] if count else NEVER
        return early + self.saved.before(time) - self.saved.before(before)


def savings(
    study: Study, common: Common, lane: int, spared: dict[str, dict[int, float]], run: Run
) -> Savings:
    """Return what a lane saves in a run; ``spared``: of each cause a part less, by step."""
    pieces = read_pieces(study.lanes[lane].folder)
    begun = [common.step[lane][number].start_ns for number in run.numbers]
    step = np.maximum(0, np.searchsorted(begun, pieces.start, side="right") - 1)
    names = (cause or piece_name(bucket) for bucket, cause in pieces.parts)
    parts = [[spared.get(name, {}).get(number, 0.0) for number in run.numbers] for name in names]
    part = np.array(parts)[pieces.part, step]
    inside = (pieces.start >= run.start[lane]) & (pieces.start < run.end[lane])
    total = np.rint(np.cumsum(np.where(inside, pieces.ns * part, 0.0))).astype(np.int64)
    return Savings(pieces.start, np.append(0, total))


class Replay:
    """The collectives of a job in the order in which they can be played again."""

    def __init__(self, study: Study) -> None:
        """Order the collectives and find what held every lane up."""
        self._study = study
        ops = study.ops
        self._meetings = meetings(study)
        self._before = _array(_before(study))
        self._lane, self._start = _array(ops["lane"]), _array(ops["start_ns"])
        self._job = _array(study.waits.start)
        self._turns = [_turns(study, lane) for lane in range(len(study.lanes))]

    def gain_ns(self, run: Run, lane: int, saved: Savings) -> int:
        """Return by how much earlier a run of steps ends if ``lane`` spends less.

        An op of which nobody knows for whom it waits may end as much earlier as all that is saved:
        nothing gains more than that.
        """
        begin, end = run.start.tolist(), run.end.tolist()
        lanes = [_within(turns, begin[k], end[k]) for k, turns in enumerate(self._turns)]
        lanes[lane].saved = saved
        ops = self._study.ops
        inside = ops["start_ns"] >= run.start[ops["lane"]]
        moved = _array(np.where(inside, saved.whole_ns, 0))
        for rows, leaving in self._inside(run):
            self._meet(rows, leaving, lanes, moved)
        early = np.array([each.at(end[k], moved) for k, each in enumerate(lanes)], np.int64)
        traces = np.array([each.trace for each in self._study.lanes], np.int64)
        ends = self._study.clocks.to_job(traces, run.end)
        return min(saved.whole_ns, int(ends.max() - (ends - early).max()))

    def _inside(self, run: Run) -> Iterator[tuple[list[int], list[int]]]:
        """Yield the ops of each meeting in a run, and which of them leave it."""
        ops, found = self._study.ops, self._meetings
        lane, start = ops["lane"][found.op], ops["start_ns"][found.op]
        inside = found.take((start >= run.start[lane]) & (start < run.end[lane]))
        edges = np.flatnonzero(np.diff(inside.at, prepend=NONE, append=NONE)).tolist()
        op, lets = _array(inside.op), inside.lets.tolist()
        for low, high in pairwise(edges):
            rows = op[low:high].tolist()
            yield rows, rows if all(lets[low:high]) else list(compress(rows, lets[low:high]))

    def _meet(
        self, rows: list[int], leaving: list[int], lanes: list[_Lane], moved: array[int]
    ) -> None:
        """Let ops leave after the last of those that they wait for begins."""
        last = max(self._job[op] for op in rows)
        early = last - max(self._job[op] - self._came(op, lanes, moved) for op in rows)
        for op in leaving:
            moved[op] = early

    def _came(self, op: int, lanes: list[_Lane], moved: array[int]) -> int:
        before = self._before[op]
        return lanes[self._lane[op]].at(self._start[op], moved) if before == NONE else moved[before]


def _array(values: Ints) -> array[int]:
    """Return numbers for one-by-one access, in less memory than a list."""
    return array("q", values.astype(np.int64).tobytes())


def _before(study: Study) -> Ints:
    """Return for every op the one of its stream that it queued behind, NONE if it did not."""
    ops = study.ops
    found = np.full(len(ops), NONE, np.int64)
    order = np.lexsort((ops["start_ns"], ops["stream"]))
    before, after = order[:-1], order[1:]
    ended = ops["end_ns"][before]
    gap = ops["start_ns"][after] - ended
    queued = (ops["stream"][before] == ops["stream"][after]) & (gap >= 0) & (gap <= SOON_NS)
    queued &= ops["order_ns"][after] <= ended
    found[after[queued]] = before[queued]
    return found


def _turns(study: Study, lane: int) -> tuple[Ints, ...]:
    """Return (begin, end, op, other) of the stretches in which a lane was held up until an end."""
    _, held = turns(study, lane)
    # Where the host was late too, what would hold it is not known: it may come earlier as well.
    some = held.soon & (held.end - held.begin >= LEAST_STRETCH_NS)
    return held.begin[some], held.end[some], held.op[some], held.other[some]


def _within(turns: tuple[Ints, ...], low: int, high: int) -> _Lane:
    begin, end, *_ = turns
    some = (begin >= low) & (end <= high)
    return _Lane(*(column[some].tolist() for column in turns))
