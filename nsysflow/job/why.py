"""Why a rank is late: its time per cause against that of its peers since the collective before."""

from __future__ import annotations

from collections.abc import Sequence

from nsysflow.findings.base import code, time_text
from nsysflow.job.lanes import JobLane, Kernel
from nsysflow.job.pace import clock, score
from nsysflow.job.since import ELSEWHERE, intervals, since
from nsysflow.job.steps import Common, Vector, vectors
from nsysflow.job.stragglers import Suspect
from nsysflow.job.study import Study
from nsysflow.shares import median_ns

MOST_PEERS = 32
MOST_NAMES = 3
SLOWER = 1.02
# A step that has less more than this share of what lies before late arrivals counts it repeatedly.
WHOLE = 0.95
# A cause that explains less of the lateness than this explains nothing.
NOTABLE = 0.1
DATA = ("data_loading", "exposed_mem")


def why(study: Study, common: Common, suspect: Suspect) -> tuple[str | None, list[str]]:
    """Return the cause of a suspect's lateness and the evidence for it.

    Peers are the members of the communicator that do the same work. What takes longer since the
    collective before makes the rank late to the next; where nothing there does, whole steps are
    compared, and that is said.
    """
    peers = peers_of(study, suspect)
    if not peers or not suspect.steps:
        return None, ["no rank does the same work"]
    found = intervals(study, common, suspect)
    mine = since(study, suspect.lane, found)
    theirs = [since(study, lane, found) for lane in peers]
    largest, excess = _excess(mine, theirs, len(suspect.steps))
    early: int | None = excess
    if excess <= NOTABLE * suspect.median_late_ns:
        mine, theirs = _whole(study, common, suspect, peers)
        largest, excess = _excess(mine, theirs, len(suspect.steps))
        early = None
    if excess <= NOTABLE * suspect.median_late_ns:
        return None, ["no cause takes notably longer than on its peers"]
    text = _told(study, common, suspect, peers, (largest, early, excess))
    if largest == "compute":
        lane, others = study.lanes[suspect.lane], [study.lanes[k] for k in peers]
        cause, evidence = _compute(lane, others)
        if cause == "slow compute":
            evidence += [*score(lane, others), clock(lane, others)]
        return cause, [text, *evidence]
    if largest in (ELSEWHERE, "transfer"):
        return "comm on another communicator", [text]
    return ("data" if largest in DATA else "host"), [text]


def peers_of(study: Study, suspect: Suspect) -> list[int]:
    """Return the members of the suspect's communicator that do the same work, the first of many."""
    members, same = study.found.groups[suspect.group].lanes, study.peer[suspect.lane]
    return [k for k in members if study.peer[k] == same and k != suspect.lane][:MOST_PEERS]


def _told(
    study: Study,
    common: Common,
    suspect: Suspect,
    peers: Sequence[int],
    found: tuple[str, int | None, int],
) -> str:
    """Say how much more of a cause there is in a step, and before the rank comes last.

    Peers go on computing while a collective waits for the rank, and the same delay lies before the
    next one again: where that sums to more than the whole step has more, its number tells nothing.
    """
    name, early, excess = found
    if early is None:
        return f"{_words(name)} takes {time_text(excess)} more per step than on its peers"
    mine, theirs = _whole(study, common, suspect, peers)
    others = median_ns([each.get(name, 0) for each in theirs]) or 0
    whole = (mine.get(name, 0) - others) // len(suspect.steps)
    longer = f"{time_text(whole)} more" if whole > 0 else "no more time"
    per_step = f"{_words(name)} takes {longer} per step than on its peers"
    if 0 < whole < early * WHOLE:
        return f"{per_step}, and is what takes longer since the collective before"
    return (
        f"{per_step}, and {time_text(early)} more between the collective before and the one in "
        "which the rank comes last"
    )


def _whole(
    study: Study, common: Common, suspect: Suspect, peers: Sequence[int]
) -> tuple[Vector, list[Vector]]:
    found = []
    for lane in (suspect.lane, *peers):
        by_step = vectors(study, common, lane)
        total: Vector = {}
        for number in suspect.steps:
            for name, ns in by_step[number].items():
                total[name] = total.get(name, 0) + ns
        found.append(total)
    return found[0], found[1:]


def _excess(mine: Vector, theirs: Sequence[Vector], steps: int) -> tuple[str, int]:
    """Return the cause that takes most beyond the median of the peers, and by how much a step."""
    excess: dict[str, int] = {}
    for name in sorted({name for each in (mine, *theirs) for name in each}):
        others = median_ns([each.get(name, 0) for each in theirs]) or 0
        excess[name] = (mine.get(name, 0) - others) // steps
    largest = max(excess, key=lambda name: (excess[name], name))
    return largest, excess[largest]


def _words(name: str) -> str:
    return {"exposed_mem": "copying", "transfer": "exposed transfer"}.get(
        name, name.replace("_", " ")
    )


def _compute(lane: JobLane, peers: Sequence[JobLane]) -> tuple[str, list[str]]:
    """Tell longer kernels from more of them, and name those that add most."""
    longer, more = [], []
    for name, kernel in lane.kernels.items():
        others = [peer.kernels[name] for peer in peers if name in peer.kernels]
        if not others:
            more.append(
                (kernel.work_ns, f"{code(kernel.short_name)}: {kernel.count} times, not on peers")
            )
            continue
        count = median_ns([k.count for k in others]) or 1
        typical = median_ns([k.median_ns for k in others]) or 1
        longer.append(_longer(kernel, count, typical))
        if kernel.count > SLOWER * count:
            added = (kernel.count - count) * typical
            more.append(
                (added, f"{code(kernel.short_name)}: {kernel.count} times, {count} on peers")
            )
    slow = [each for each in longer if each is not None]
    is_more = sum(ns for ns, _ in more) > sum(ns for ns, _ in slow)
    told = sorted(more if is_more else slow, reverse=True)[:MOST_NAMES]
    return ("more work" if is_more else "slow compute"), [text for _, text in told]


def _longer(kernel: Kernel, count: int, typical: int) -> tuple[int, str] | None:
    if kernel.median_ns <= SLOWER * typical:
        return None
    added = (kernel.median_ns - typical) * min(kernel.count, count)
    ratio = kernel.median_ns / typical
    return added, f"{code(kernel.short_name)}: {ratio:.2f} times as long as on peers"
