"""What mending a late rank gains: its time brought down to its peers', and the job played again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from nsysflow.job.replay import Replay, savings
from nsysflow.job.steps import Common, Vector, runs, vectors
from nsysflow.job.stragglers import Suspect
from nsysflow.job.study import Study
from nsysflow.job.why import peers_of
from nsysflow.shares import mean_ns, median_ns

# Each costs as much as going through all collectives once.
MOST_REPLAYED = 8
# What a slow GPU takes longer for in every step, as much as there is of it.
_PACE = ("compute", "micro_gap")

ByStep = dict[int, Vector]


def replayed(study: Study, common: Common, found: Sequence[Suspect]) -> list[Suspect]:
    """Return the suspects with the gain of the largest stragglers played again.

    What all other members are held up longer than the suspect is no bound beside that: ranks that
    wait for nobody run ahead and end their steps elsewhere, so that in each step another is held up
    least, and a rank that is held up itself at times shows less of its own delay.

    Where another is last in each step, or too few steps are known, no pace can be told: there it
    is all that is known.
    """
    late = [each for each in found if each.verdict == "straggler"][:MOST_REPLAYED]
    if not late:
        return list(found)
    replay = Replay(study)
    gain = {each.lane: _gain_ns(study, common, replay, each) for each in late}
    return [replace(each, gain_ns=gain[each.lane]) if each.lane in gain else each for each in found]


def _gain_ns(study: Study, common: Common, replay: Replay, suspect: Suspect) -> int:
    mine = _by_step(study, common, suspect.lane)
    theirs = [_by_step(study, common, peer) for peer in peers_of(study, suspect)]
    whole = spared_parts(_total(mine), [_total(each) for each in theirs])
    spared = spared_in_steps(whole, mine, theirs)
    total = sum(
        replay.gain_ns(run, suspect.lane, savings(study, common, suspect.lane, spared, run))
        for run in runs(common)
    )
    return mean_ns(total, len(common.numbers)) or 0


def spared_parts(mine: Vector, theirs: Sequence[Vector]) -> dict[str, float]:
    """Return which part of its time of each cause a lane spends beyond the median of its peers."""
    spared = {}
    for name, ns in mine.items():
        others = median_ns([each.get(name, 0) for each in theirs]) or 0
        if ns > others:
            spared[name] = 1 - others / ns
    # Beside a collective the turn-around between kernels is communication: a slow lane, which has
    # fewer of them there, has more that count as gaps. It has more kernels or it does not.
    if "micro_gap" in spared:
        spared["micro_gap"] = min(spared["micro_gap"], spared.get("compute", 0.0))
    return spared


def spared_in_steps(
    whole: dict[str, float], mine: ByStep, theirs: Sequence[ByStep]
) -> dict[str, dict[int, float]]:
    """Return which part of its time of each cause a lane spares in each step; ``whole``: in all.

    A slow GPU is slow in all that it computes. What its host waits for, the peers wait for too in
    some steps, and none of that is spared: there the steps in which the lane alone waits longer
    hold all of what it spends beyond its peers.
    """
    found: dict[str, dict[int, float]] = {}
    for name, part in whole.items():
        found[name] = dict.fromkeys(mine, part)
        own = {number: vector.get(name, 0) for number, vector in mine.items()}
        longer = {
            number: max(0, ns - (median_ns([each[number].get(name, 0) for each in theirs]) or 0))
            for number, ns in own.items()
        }
        if name not in _PACE and any(longer.values()):
            scale = part * sum(own.values()) / sum(longer.values())
            found[name] = {
                number: min(1.0, scale * longer[number] / ns) if ns else 0.0
                for number, ns in own.items()
            }
    return found


def _by_step(study: Study, common: Common, lane: int) -> ByStep:
    # Communication moves with the collectives themselves.
    return {
        number: {name: ns for name, ns in vector.items() if name != "transfer"}
        for number, vector in vectors(study, common, lane).items()
    }


def _total(found: ByStep) -> Vector:
    total: Vector = {}
    for vector in found.values():
        for name, ns in vector.items():
            total[name] = total.get(name, 0) + ns
    return total
