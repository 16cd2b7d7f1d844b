"""Why a rank is late: its time per cause against that of its peers, in the steps that show it."""

from __future__ import annotations

from collections.abc import Sequence

from nsysflow.findings.base import code, time_text
from nsysflow.job.lanes import JobLane, Kernel
from nsysflow.job.steps import Common, vectors
from nsysflow.job.stragglers import Suspect
from nsysflow.job.study import Study
from nsysflow.shares import median_ns

MOST_PEERS = 32
MOST_NAMES = 3
SLOWER = 1.02
# A cause that explains less of the lateness than this explains nothing.
NOTABLE = 0.1
DATA = ("data_loading", "exposed_mem")


def why(study: Study, common: Common, suspect: Suspect) -> tuple[str | None, list[str]]:
    """Return the cause of a suspect's lateness and the evidence for it."""
    peers = [k for k, peer in enumerate(study.peer)
             if peer == study.peer[suspect.lane] and k != suspect.lane][:MOST_PEERS]  # fmt: skip
    if not peers or not suspect.steps:
        return None, ["no rank does the same work"]
    mine = vectors(study, common, suspect.lane)
    theirs = [vectors(study, common, lane) for lane in peers]
    steps = suspect.steps
    names = {name for n in steps for each in (mine, *theirs) for name in each[n]}
    excess: dict[str, int] = {}
    for name in sorted(names):
        own = sum(mine[n].get(name, 0) for n in steps)
        others = median_ns([sum(each[n].get(name, 0) for n in steps) for each in theirs]) or 0
        excess[name] = (own - others) // len(steps)
    largest = max(excess, key=lambda name: (excess[name], name))
    if excess[largest] <= NOTABLE * suspect.median_late_ns:
        return None, ["no cause takes notably longer than on its peers"]
    text = f"{_words(largest)} takes {time_text(excess[largest])} more per step than on its peers"
    if largest == "compute":
        cause, more = _compute(study.lanes[suspect.lane], [study.lanes[k] for k in peers])
        return cause, [text, *more]
    if largest == "transfer":
        return "comm on another communicator", [text]
    return ("data" if largest in DATA else "host"), [text]


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
