"""Who makes the others wait, tested on steps: the collectives of one step are not independent.

A rank is late in a step if the others wait for it at least half of what they wait there for
someone, and a hundredth of the step. A rank is a straggler of a communicator if that is so in two
thirds of the steps, more often than chance (p < 0.01), and if its own host and compute time is
longer than its peers': who only began later comes last and costs nothing. Ranks that do other work
are not compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import comb

import numpy as np

from nsysflow.job.lanes import NEVER, NONE, Flags, Ints
from nsysflow.job.steps import Common, spent
from nsysflow.job.study import Study
from nsysflow.shares import mean_ns, median_ns

LEAST_STEPS = 3
STEPS_SHARE = 2 / 3
MOSTLY = 0.5
CHANCE = 0.01
WORTH = 0.01
_ORDER = ("straggler", "transient", "rotating", "cannot_tell")


@dataclass(frozen=True)
class Suspect:
    """A lane that makes others wait, in ``steps``; their share of all is ``last_frac``."""

    lane: int
    verdict: str
    last_frac: tuple[int, int]
    median_late_ns: int
    gain_ns: int
    group: int
    steps: tuple[int, ...]


@dataclass(frozen=True)
class Tally:
    """Lanes of a group that do the same work, by common steps.

    ``gap`` is how much later than the others they came where they came last, summed over a step;
    ``late`` the largest lateness in a step; ``gain`` what mending the lane alone would give.
    """

    group: int
    lanes: tuple[int, ...]
    gap: Ints
    late: Ints
    gain: Ints
    bad: Flags


def least_ns(study: Study, common: Common) -> int:
    """Return what is worth calling late: a hundredth of the step, or the clocks' error if more."""
    lengths = [int(x) for lane in range(len(study.lanes)) for x in common.length(lane)]
    return max(study.waits.floor_ns, round(WORTH * (median_ns(lengths) or 0)))


def suspects(study: Study, common: Common, tallies: list[Tally]) -> list[Suspect]:
    """Return the lanes with a verdict, the worst first, each with the group where it shows most."""
    least = least_ns(study, common)

    @cache
    def own(lane: int) -> int:
        return _own_ns(study, common, lane)

    late_in_step = {
        lane: np.any([t.bad[t.lanes.index(lane)] for t in tallies if lane in t.lanes], axis=0)
        for lane in range(len(study.lanes))
        if any(lane in t.lanes for t in tallies)
    }
    anyone = int(np.any(list(late_in_step.values()), axis=0).sum()) if late_in_step else 0
    found = []
    for lane, bad in late_in_step.items():
        if bad.any():
            mine = [t for t in tallies if lane in t.lanes]
            suspect = _suspect(common, lane, bad, mine, anyone)
            if suspect.verdict in ("rotating", "transient") or _slower(
                study, suspect, least * len(common.numbers), own
            ):
                found.append(suspect)
    return sorted(found, key=_rank)


def _suspect(common: Common, lane: int, bad: Flags, mine: list[Tally], anyone: int) -> Suspect:
    place = [tally.lanes.index(lane) for tally in mine]
    most = max(range(len(mine)), key=lambda k: (int(mine[k].bad[place[k]].sum()),
                                               int(mine[k].gap[place[k]].sum()), -k))  # fmt: skip
    # Who is late to several communicators in a step came last of all their ranks.
    often = [
        t for t, k in zip(mine, place, strict=True) if t.bad[k].sum() >= STEPS_SHARE * len(bad)
    ]
    rivals = {other for tally in often or [mine[most]] for other in tally.lanes}
    tally, row = mine[most], place[most]
    numbers = tuple(n for n, is_bad in zip(common.numbers, bad, strict=True) if is_bad)
    return Suspect(
        lane,
        _verdict(len(numbers), len(bad), anyone, len(rivals)),
        (len(numbers), len(bad)),
        median_ns(tally.late[row][tally.bad[row]].tolist()) or 0,
        mean_ns(int(tally.gain[row].sum()), len(bad)) or 0,
        tally.group,
        numbers,
    )


def lateness(study: Study, tallies: list[Tally]) -> dict[int, Ints]:
    """Return how late each lane came at most in each step, 0 where it never came last.

    Lateness is not summed: one delay shows in every collective until the others wait for all work.
    """
    found: dict[int, Ints] = {}
    for tally in tallies:
        for lane, gap, late in zip(tally.lanes, tally.gap, tally.late, strict=True):
            mine = np.where(gap > 0, late, 0)
            found[lane] = np.maximum(found[lane], mine) if lane in found else mine
    return {lane: found[lane] for lane in range(len(study.lanes)) if lane in found}


def tallies_of(study: Study, common: Common) -> list[Tally]:
    """Return the tally of every set of lanes that share a communicator and do the same work."""
    found: list[Tally] = []
    if not common.numbers:
        return found
    for group, each in enumerate(study.found.groups):
        if len(each.lanes) < 2 or study.kind[group] == "pp":  # noqa: PLR2004
            continue
        exposed = np.stack([common.exposed(lane) for lane in each.lanes])
        gain = np.maximum(0, _least_of_others(exposed) - exposed)
        for alike in _alike(study, each.lanes):
            some = [each.lanes.index(lane) for lane in alike]
            found.append(_tally(study, common, group, alike, gain[some]))
    return found


def _rank(suspect: Suspect) -> tuple[int, int, int]:
    return (_ORDER.index(suspect.verdict), -suspect.gain_ns, suspect.lane)


def _alike(study: Study, lanes: tuple[int, ...]) -> list[tuple[int, ...]]:
    """Return the lanes that do the same work together; one alone has nobody to be compared with."""
    by_peer: dict[int, list[int]] = {}
    for lane in lanes:
        by_peer.setdefault(study.peer[lane], []).append(lane)
    return [tuple(mine) for mine in by_peer.values() if len(mine) > 1]


def _rows(study: Study, group: int) -> Ints:
    """Return the ops of a group in complete instances that kept steps asked for."""
    members = study.members
    mine = (study.found.group == group) & study.waits.complete
    rows = members.op[mine[members.at]]
    kept: Ints = rows[study.ops.owned[rows]]
    return kept


def _tally(study: Study, common: Common, group: int, lanes: tuple[int, ...], gain: Ints) -> Tally:
    rows = _rows(study, group)
    lane = study.ops["lane"][rows]
    begun = study.waits.start[rows]
    _, at = np.unique(study.found.instance[rows], return_inverse=True)
    count = int(at.max()) + 1 if len(at) else 0
    latest, second = np.full(count, NEVER), np.full(count, NEVER)
    np.maximum.at(latest, at, begun)
    mine = np.isin(lane, lanes)
    leads = mine & (begun == latest[at])
    # The latest of the others that do the same work; a tie leaves no gap.
    first = np.full(count, NONE, np.int64)
    first[at[leads]] = np.flatnonzero(leads)
    rest = mine & (np.arange(len(rows)) != first[at])
    np.maximum.at(second, at[rest], begun[rest])
    gaps = np.where(leads & (second[at] != NEVER), begun - second[at], 0)
    gaps = np.where(gaps > study.waits.floor_ns, gaps, 0)
    shape = (len(lanes), len(common.numbers))
    gap, late = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
    for place, each in enumerate(lanes):
        some = np.flatnonzero(lane == each)
        step = _columns(common, each, study.ops["step"][rows[some]])
        some, step = some[step >= 0], step[step >= 0]
        np.add.at(gap[place], step, gaps[some])
        np.maximum.at(late[place], step, study.waits.late[rows[some]])
    mostly = (gap > 0) & (gap >= MOSTLY * gap.sum(axis=0))
    least = max(1, least_ns(study, common))
    bad = mostly & (np.minimum(np.maximum(late, gain), gap) >= least)
    return Tally(group, lanes, gap, late, gain, bad)


def _columns(common: Common, lane: int, step: Ints) -> Ints:
    """Return the place of each step among the common ones, NONE for others."""
    index = np.array([common.step[lane][n].index for n in common.numbers], np.int64)
    order = np.argsort(index)
    place = np.searchsorted(index[order], step)
    inside = np.minimum(place, len(index) - 1)
    found: Ints = np.where(index[order][inside] == step, order[inside], NONE)
    return found


def _least_of_others(values: Ints) -> Ints:
    """Return for each row the smallest value of the other rows, per column."""
    ordered = np.sort(values, axis=0)
    least: Ints = np.where(values == ordered[0], ordered[1], ordered[0])
    return least


def _verdict(bad: int, steps: int, anyone: int, rivals: int) -> str:
    if steps < LEAST_STEPS:
        return "cannot_tell"
    if bad >= STEPS_SHARE * steps:
        return "straggler" if chance(bad, steps, 1 / rivals) < CHANCE else "cannot_tell"
    return "transient" if bad >= STEPS_SHARE * anyone else "rotating"


def chance(hits: int, tries: int, share: float) -> float:
    """Return the probability of at least ``hits`` in ``tries`` at ``share`` each."""
    return sum(
        comb(tries, k) * share**k * (1 - share) ** (tries - k) for k in range(hits, tries + 1)
    )


def _slower(study: Study, suspect: Suspect, least: int, own_ns: Callable[[int], int]) -> bool:
    """Whether the lane's own time in all steps exceeds its peers', not only its arrival."""
    lanes = study.found.groups[suspect.group].lanes
    alike = next(mine for mine in _alike(study, lanes) if suspect.lane in mine)
    others = median_ns([own_ns(each) for each in alike if each != suspect.lane]) or 0
    return 2 * (own_ns(suspect.lane) - others) >= least


def _own_ns(study: Study, common: Common, lane: int) -> int:
    """Return the lane's time without communication and without the gaps between its kernels.

    Beside a collective these gaps are communication. Who is held up elsewhere, and so comes last,
    has fewer of them there than its peers, which wait for it: that is no work of its own.
    """
    apart = int((common.length(lane) - common.exposed(lane)).sum())
    return apart - spent(study, common, lane, "micro_gap")
