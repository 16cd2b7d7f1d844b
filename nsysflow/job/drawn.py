"""Waiting and transfer on the timeline of a lane: what was drawn unsplit, told apart.

A lane alone draws exposed collectives as ``unsplit``. Here each becomes its stretches: ``wait``
(``bubble`` in a pipeline), ``transfer``, and ``host_late`` where the next kernel had not been asked
for. Ops that share a mark, and those beyond the room there is, take their longest stretch's class.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nsysflow.job.exposed import PART
from nsysflow.job.lanes import NEVER
from nsysflow.job.study import Study
from nsysflow.job.table import read_table

TABLE = "timeline_collective.parquet"
# Marks that splitting may add to one document, the longest collectives first.
MOST_ADDED = 2_000
# Enough to get back the ns that a share stands for.
DIGITS = 9
LATE = (PART["wait_host_late"], PART["transfer_host_late"])

Mark = list[Any]
Stretch = tuple[int, int, str]


@dataclass(frozen=True)
class Op:
    """An op on a row: where it starts and how long it runs there, and its stretches."""

    start_ns: int
    dur_ns: int
    stretches: tuple[Stretch, ...]

    @property
    def longest(self) -> str:
        """The class that most of its time has; of equals the one that comes first."""
        time: dict[str, int] = {}
        for start, end, name in self.stretches:
            time[name] = time.get(name, 0) + end - start
        return max(time, key=lambda name: time[name])


def split_timeline(timeline: dict[str, Any], study: Study, lane: int) -> bool:
    """Split the collectives of a lane's ``timeline``, changed in place; False: none could be."""
    if timeline["status"] != "ok":
        return False
    placed = read_table(study.lanes[lane].folder / TABLE)
    numbers = placed["op_no"].to_numpy().astype(np.int64) + int(study.first_op[lane])
    if not (study.waits.until[numbers] != NEVER).any():
        return False
    split = _stretches(study, lane, np.unique(numbers).tolist())
    begin = {step.index: step.start_ns for step in study.lanes[lane].steps}
    found: dict[tuple[int, int], list[Op]] = {}
    for row, number in zip(placed.to_pylist(), numbers.tolist(), strict=True):
        start, length = row["start_ns"], row["dur_ns"]
        cut = _clip(split[number], begin[row["step"]] + start, length, start)
        found.setdefault((row["step"], row["row"]), []).append(Op(start, length, cut))
    _redraw(timeline, found)
    return True


def _stretches(study: Study, lane: int, numbers: Sequence[int]) -> dict[int, list[Stretch]]:
    """Return the stretches of some ops on the clock of their file."""
    parts, part = study.exposed(lane)
    late: dict[int, list[tuple[int, int]]] = {}
    for at in np.flatnonzero(np.isin(part, LATE) & np.isin(parts.op, numbers)):
        late.setdefault(int(parts.op[at]), []).append((int(parts.start[at]), int(parts.end[at])))
    ops, until, bubble = study.ops, study.waits.until, study.bubble
    return {
        op: stretches(
            (int(ops["start_ns"][op]), int(until[op]), int(ops["end_ns"][op])),
            late.get(op, []),
            bubble=bool(bubble[op]),
        )
        for op in numbers
    }


def stretches(
    times: tuple[int, int, int], late: Sequence[tuple[int, int]], *, bubble: bool
) -> list[Stretch]:
    """Cut an op at the end of its waiting and where the host is late; equal neighbours join.

    Args:
        times: its start, the end of its waiting (NEVER: not known), its end.
        late: stretches in which the host is late, by time.
        bubble: its waiting is the pipeline's.
    """
    start, until, end = times
    if until == NEVER:
        return [(start, end, "unsplit")]
    edges = {start, until, end}.union(*late)
    inside = sorted(edge for edge in edges if start <= edge <= end)
    begins = [begin for begin, _ in late]
    made: list[Stretch] = []
    for low, high in pairwise(inside):
        before = bisect_right(begins, low) - 1
        if before >= 0 and low < late[before][1]:
            name = "host_late"
        elif low < until:
            name = "bubble" if bubble else "wait"
        else:
            name = "transfer"
        if made and made[-1][2] == name:
            low = made.pop()[0]  # noqa: PLW2901 - the stretch grows to the left
        made.append((low, high, name))
    return made


def _clip(cut: Sequence[Stretch], start_ns: int, length: int, place: int) -> tuple[Stretch, ...]:
    """Return what a window shows of an op; ``start_ns`` becomes ``place``."""
    end_ns, off = start_ns + length, place - start_ns
    inside = [(max(a, start_ns), min(b, end_ns), name) for a, b, name in cut]
    return tuple((a + off, b + off, name) for a, b, name in inside if b > a)


def _redraw(timeline: dict[str, Any], found: dict[tuple[int, int], list[Op]]) -> None:
    classes = timeline["classes"]
    code = {name: place for place, name in enumerate(classes)}
    least, kept_whole = _room(list(found.values()))
    for step in timeline["steps"]:
        for number, row in enumerate(step["rows"]):
            mine = found.get((step["index"], number))
            if mine:
                row["marks"] = sorted(_row(row["marks"], mine, code, least))
        marks = [mark for row in step["rows"] for mark in row["marks"]]
        step["merged"] = sum(mark[4] for mark in marks if mark[4] > 1)
    if kept_whole:
        note = f"{kept_whole} short collectives are drawn as what they mostly did"
        timeline["note"] = f"{timeline['note']}; {note}" if timeline.get("note") else note


def _room(rows: Sequence[Sequence[Op]]) -> tuple[int, int]:
    """Return from which length on collectives are cut, and how many that leaves whole."""
    several = sorted(
        (op.dur_ns for row in rows for op in row if len(op.stretches) > 1), reverse=True
    )
    if len(several) <= MOST_ADDED:
        return 0, 0
    least = several[MOST_ADDED - 1] + 1
    return least, sum(length < least for length in several)


def _row(marks: Sequence[Mark], ops: Sequence[Op], code: dict[str, int], least: int) -> list[Mark]:
    """Return the marks of a row with the unsplit ones replaced."""
    unsplit = code["unsplit"]
    made = [mark for mark in marks if mark[2] != unsplit]
    waiting: dict[tuple[int, int], list[Op]] = {}
    for op in ops:
        waiting.setdefault((op.start_ns, op.dur_ns), []).append(op)
    for mark in (mark for mark in marks if mark[2] == unsplit and mark[4] == 1):
        mine = waiting.get((mark[0], mark[1]))
        if not mine:
            made.append(mark)
            continue
        made += _single(mark, mine.pop(0), code, least)
    rest = sorted((op for mine in waiting.values() for op in mine), key=lambda op: op.start_ns)
    for mark in sorted(mark for mark in marks if mark[2] == unsplit and mark[4] > 1):
        mine, rest = rest[: mark[4]], rest[mark[4] :]
        # A mark whose ops are not all known stays what it was.
        made += _pile(mark, mine, code) if len(mine) == mark[4] else [mark]
    return made


def _single(mark: Mark, op: Op, code: dict[str, int], least: int) -> list[Mark]:
    if not op.stretches:
        return [mark]
    if op.dur_ns < least and len(op.stretches) > 1:
        return [[mark[0], mark[1], code[op.longest], mark[3], 1, 1]]
    return [[a, b - a, code[name], mark[3], 1, 1] for a, b, name in op.stretches]


def _pile(mark: Mark, ops: Sequence[Op], code: dict[str, int]) -> list[Mark]:
    """Return a mark per class for ops that one mark stood for; each op counts once."""
    by_class: dict[str, list[Op]] = {}
    for op in ops:
        by_class.setdefault(op.longest, []).append(op)
    made = []
    for name, mine in by_class.items():
        start = min(op.start_ns for op in mine)
        length = max(op.start_ns + op.dur_ns for op in mine) - start
        covered = min(length, sum(op.dur_ns for op in mine))
        share = 1 if covered == length else round(covered / length, DIGITS)
        made.append([start, length, code[name], mark[3], len(mine), share])
    return made
