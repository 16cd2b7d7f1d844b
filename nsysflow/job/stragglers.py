"""Who makes the others wait, tested on steps: the collectives of one step are not independent.

A rank is a straggler of a communicator if it comes last in most of its collectives, in two thirds
of the steps, more often than chance (p < 0.01), if that costs a hundredth of a step, and if its own
host and compute time is longer than its peers'. Ranks that do other work are not compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

import numpy as np

from nsysflow.job.lanes import NONE, Flags, Ints
from nsysflow.job.steps import Common
from nsysflow.job.study import Study
from nsysflow.shares import mean_ns, median_ns

LEAST_STEPS = 3
STEPS_SHARE = 2 / 3
INSTANCES_SHARE = 0.5
CHANCE = 0.01
WORTH = 0.01
_ORDER = ("straggler", "transient", "rotating", "cannot_tell")


@dataclass(frozen=True)
class Suspect:
    """A lane that makes others wait. ``steps`` are those in which it did."""

    lane: int
    verdict: str
    last_frac: tuple[int, int]
    median_late_ns: int
    gain_ns: int
    group: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class _Tally:
    """Of one group, members by common steps: instances last, latest arrival, gain, bad steps."""

    lanes: tuple[int, ...]
    last: Ints
    late: Ints
    gain: Ints
    bad: Flags
    instances: int


def least_ns(study: Study, common: Common) -> int:
    """Return what is worth calling late: a hundredth of the step, or the clocks' error if more."""
    lengths = [int(x) for lane in range(len(study.lanes)) for x in common.length(lane)]
    return max(study.waits.floor_ns, round(WORTH * (median_ns(lengths) or 0)))


def suspects(study: Study, common: Common) -> list[Suspect]:
    """Return the lanes with a verdict, the worst first, each with the group where it shows most."""
    least = least_ns(study, common)
    found: dict[int, Suspect] = {}
    for group in range(len(study.found.groups)):
        tally = _tally(study, common, group, least)
        if tally is None:
            continue
        for suspect in _verdicts(study, common, group, tally, least):
            before = found.get(suspect.lane)
            if before is None or _rank(suspect) < _rank(before):
                found[suspect.lane] = suspect
    return sorted(found.values(), key=_rank)


def _rank(suspect: Suspect) -> tuple[int, int, int]:
    return (_ORDER.index(suspect.verdict), -suspect.gain_ns, suspect.lane)


def _tally(study: Study, common: Common, group: int, least: int) -> _Tally | None:
    lanes = study.found.groups[group].lanes
    if len(lanes) < 2 or study.kind[group] == "pp" or not common.numbers:  # noqa: PLR2004
        return None
    ops, numbers = study.ops, np.array(common.numbers, np.int64)
    index = [{step.index: k for k, n in enumerate(common.numbers) for step in (common.step[lane][n],)}
             for lane in lanes]  # fmt: skip
    shape = (len(lanes), len(numbers))
    last, late = np.zeros(shape, np.int64), np.full(shape, np.iinfo(np.int64).min, np.int64)
    rows = _rows(study, group)
    for place, lane in enumerate(lanes):
        mine = rows[ops["lane"][rows] == lane]
        at = np.array([index[place].get(int(step), NONE) for step in ops["step"][mine]], np.int64)
        mine, at = mine[at >= 0], at[at >= 0]
        np.add.at(last[place], at, study.waits.last[mine])
        np.maximum.at(late[place], at, study.waits.late[mine])
    exposed = np.stack([common.exposed(lane) for lane in lanes])
    gain = np.maximum(0, _least_of_others(exposed) - exposed)
    clear = last.sum(axis=0)
    mostly = (clear > 0) & (last >= INSTANCES_SHARE * clear)
    bad = mostly & (np.maximum(late, gain) >= max(1, least))
    count = len(np.unique(study.found.instance[rows]))
    return _Tally(lanes, last, late, gain, bad, count)


def _rows(study: Study, group: int) -> Ints:
    """Return the ops of a group in complete instances that kept steps asked for."""
    members = study.members
    mine = (study.found.group == group) & study.waits.complete
    rows = members.op[mine[members.at]]
    return rows[study.ops.owned[rows]]


def _least_of_others(values: Ints) -> Ints:
    """Return for each row the smallest value of the other rows, per column."""
    ordered = np.sort(values, axis=0)
    return np.where(values == ordered[0], ordered[1], ordered[0])


def _verdicts(study: Study, common: Common, group: int, tally: _Tally, least: int) -> list[Suspect]:
    found = []
    steps = len(common.numbers)
    in_group = int(tally.bad.any(axis=0).sum())
    for place, lane in enumerate(tally.lanes):
        bad = int(tally.bad[place].sum())
        alike = [other for other in tally.lanes if study.peer[other] == study.peer[lane]]
        if not bad or len(alike) < 2:  # noqa: PLR2004 - nobody to compare with
            continue
        verdict = _verdict(bad, steps, in_group, len(tally.lanes))
        if verdict == "straggler" and not _slower(common, lane, alike, least):
            continue
        numbers = tuple(
            n for n, is_bad in zip(common.numbers, tally.bad[place], strict=True) if is_bad
        )
        late = [
            int(ns)
            for ns, is_bad in zip(tally.late[place], tally.bad[place], strict=True)
            if is_bad
        ]
        found.append(
            Suspect(
                lane,
                verdict,
                (int(tally.last[place].sum()), tally.instances),
                median_ns(late) or 0,
                mean_ns(int(tally.gain[place].sum()), steps) or 0,
                group,
                numbers,
            )
        )
    return found


def _verdict(bad: int, steps: int, in_group: int, members: int) -> str:
    if steps < LEAST_STEPS:
        return "cannot_tell"
    if bad >= STEPS_SHARE * steps:
        return "straggler" if chance(bad, steps, 1 / members) < CHANCE else "cannot_tell"
    return "transient" if bad >= STEPS_SHARE * in_group else "rotating"


def chance(hits: int, tries: int, share: float) -> float:
    """Return the probability of at least ``hits`` in ``tries`` at ``share`` each."""
    return sum(
        comb(tries, k) * share**k * (1 - share) ** (tries - k) for k in range(hits, tries + 1)
    )


def _slower(common: Common, lane: int, alike: list[int], least: int) -> bool:
    """Whether the lane's own time per step exceeds its peers', not only its arrival."""
    own = {each: int((common.length(each) - common.exposed(each)).sum()) for each in alike}
    others = median_ns([ns for each, ns in own.items() if each != lane]) or 0
    return 2 * (own[lane] - others) >= least * len(common.numbers)
