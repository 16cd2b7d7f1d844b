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
    peers = peers_of(study, suspect)
    spared = spared_parts(
        _total(study, common, suspect.lane), [_total(study, common, peer) for peer in peers]
    )
    total = sum(
        replay.gain_ns(run, suspect.lane, savings(study, suspect.lane, spared, run))
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


def _total(study: Study, common: Common, lane: int) -> Vector:
    total: Vector = {}
    for vector in vectors(study, common, lane).values():
        for name, ns in vector.items():
            # Communication moves with the collectives themselves.
            if name != "transfer":
                total[name] = total.get(name, 0) + ns
    return total
