"""What a communicator is for, and which lanes do the same work.

The user's layout says it, else the names of groups in the trace, else what runs on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nsysflow.job.lanes import KINDS, NONE, OP, Ints, JobLane, Ops
from nsysflow.job.layout import Layout
from nsysflow.job.matching import Group, Matching
from nsysflow.job.talks import PAIR

# A tensor-parallel group is busy from early in the step on; gradients come at its end.
EARLY = 0.4
MANY_PER_STEP = 4
FEW_GATHERS = 2
# Gradient norms and flags are no gradients.
SMALL_BYTES = 4_096
# A stage of a pipeline sends to the next and the one before.
NEIGHBOURS = 2
# Of the ops of a context-parallel group so many stand beside attention; a few may do so anywhere.
BESIDE = 0.8
# Named ranges may enclose what is not theirs: so many of a group's ops carry its name.
NAMED, AGREE = 0.5, 0.9
# Lanes do the same work if no more than this share of it is in kernels that the other lacks.
OTHER_KERNELS = 0.05


@dataclass(frozen=True)
class Traffic:
    """What runs on a group in the kept steps.

    ``per_step`` counts by op; ``early`` how far into the step the first of an op begins;
    ``gathers_first`` the all-gathers before a step's first reduce-scatter; ``beside`` the share of
    its ops that the program asks for right before or after attention, None without attention;
    ``most_peers`` the most ranks that one op sends to or receives from.
    """

    per_step: dict[int, float]
    early: dict[int, float]
    most_bytes: int
    gathers_first: float
    beside: float | None
    most_peers: int


def kinds(
    ops: Ops, lanes: Sequence[JobLane], found: Matching, layout: Layout | None
) -> list[tuple[str, str | None]]:
    """Return the kind of every group and what says so: user, name or traffic; None: nothing."""
    group = found.group_of
    order = np.lexsort((ops["lane"], group))
    first = np.searchsorted(group[order], np.arange(len(found.groups) + 1))
    kinds_found: list[tuple[str, str | None]] = []
    for number, each in enumerate(found.groups):
        mine = order[first[number] : first[number + 1]]
        if not each.lanes or not len(mine):
            kinds_found.append(("unknown", None))
            continue
        lead = int(ops["lane"][mine[0]])
        own = mine[(ops["lane"][mine] == lead) & ops.owned[mine]]
        traffic = _traffic(ops, lanes[lead], own)
        told = (
            (_by_layout(layout, lanes, each, traffic), "user"),
            (_by_name(ops["named"][mine], traffic), "name"),
            (_by_traffic(traffic, len(each.lanes)), "traffic"),
        )
        kinds_found.append(next(((k, s) for k, s in told if k is not None), ("unknown", None)))
    return kinds_found


def _by_layout(
    layout: Layout | None, lanes: Sequence[JobLane], group: Group, traffic: Traffic
) -> str | None:
    ranks = [lanes[lane].rank for lane in group.lanes]
    known = [rank for rank in ranks if rank is not None]
    if layout is None or len(known) < len(ranks):
        return None
    may = layout.kinds(known, group.size or len(known))
    if len(may) > 1:
        may = ("ep",) if OP["all_to_all"] in traffic.per_step else ("dp",)
    return _sharded(may[0], traffic) if may else None


def _by_name(named: Ints, traffic: Traffic) -> str | None:
    """Return the kind that the names of enclosing ranges or of the communicator agree on."""
    told = named[named != NONE]
    if len(told) < NAMED * len(named):
        return None
    kind, count = np.unique(told, return_counts=True)
    if count.max() < AGREE * len(told):
        return None
    return _sharded(KINDS[int(kind[np.argmax(count)])], traffic)


def _sharded(kind: str, traffic: Traffic) -> str:
    """Tell data parallelism that gathers parameters from that which only reduces gradients."""
    both = traffic.per_step.keys() >= {OP["all_gather"], OP["reduce_scatter"]}
    return "fsdp" if kind == "dp" and both else kind


def _traffic(ops: Ops, lane: JobLane, own: Ints) -> Traffic:
    steps = max(1, len(lane.steps))
    places = _places(lane, ops["start_ns"][own])
    op = ops["op"][own]
    per_step = {int(code): float((op == code).sum()) / steps for code in np.unique(op)}
    early = {int(code): _typical_first(places, op == code) for code in np.unique(op)}
    most = int(ops["bytes"][own].max()) if len(own) else -1
    near = ops["beside"][own]
    told = int((near != NONE).sum())
    beside = float((near == 1).sum()) / told if told and lane.has_attention else None
    peers = [len(ops.peers[code]) for code in np.unique(ops["peers"][own]) if code >= 0]
    most_peers = max(peers, default=0)
    return Traffic(per_step, early, most, _gathers_first(places[0], op), beside, most_peers)


def _gathers_first(at: Ints, op: Ints) -> float:
    counts = []
    for step in np.unique(at):
        mine = op[at == step]
        scatters = np.flatnonzero(mine == OP["reduce_scatter"])
        if len(scatters):
            counts.append(int((mine[: scatters[0]] == OP["all_gather"]).sum()))
    return float(np.median(counts)) if counts else 0.0


def _places(lane: JobLane, start: Ints) -> tuple[Ints, np.ndarray]:
    """Return for each op its kept step and how far into the step it began."""
    begins = np.array([step.start_ns for step in lane.steps], np.int64)
    ends = np.array([step.end_ns for step in lane.steps], np.int64)
    at = np.clip(np.searchsorted(begins, start, side="right") - 1, 0, max(0, len(begins) - 1))
    if not len(begins):
        return at, np.zeros(len(start))
    return at, (start - begins[at]) / np.maximum(1, ends[at] - begins[at])


def _typical_first(places: tuple[Ints, np.ndarray], some: np.ndarray) -> float:
    at, share = places[0][some], places[1][some]
    firsts = [float(share[at == step].min()) for step in np.unique(at)]
    return float(np.median(firsts)) if firsts else 1.0


def _by_traffic(traffic: Traffic, members: int) -> str | None:
    ops = set(traffic.per_step)
    gather, scatter, reduce = OP["all_gather"], OP["reduce_scatter"], OP["all_reduce"]
    if (traffic.beside or 0) >= BESIDE and ops <= {
        OP["send_recv"],
        OP["all_to_all"],
        gather,
        scatter,
    }:
        # Attention asks the other ranks for the rest of the sequence.
        return "cp"
    if ops == {OP["send_recv"]}:
        return _sending(traffic, members)
    if ops == {OP["all_to_all"]}:
        return "ep"
    if ops >= {gather, scatter}:
        # Sharded parameters are gathered layer after layer before the first gradient is reduced.
        few = traffic.gathers_first <= FEW_GATHERS
        return "tp" if few and traffic.early[scatter] < EARLY else "fsdp"
    return _reducing(traffic) if ops and ops <= {reduce, scatter} else None


def _sending(traffic: Traffic, members: int) -> str | None:
    """Tell links between stages from what goes to everyone; rings stand beside attention."""
    if members == PAIR:
        return "pp"
    if traffic.most_peers > NEIGHBOURS:
        return "ep"
    apart = traffic.beside is not None and traffic.beside <= 1 - BESIDE
    return "pp" if apart and traffic.most_peers else None


def _reducing(traffic: Traffic) -> str | None:
    """Tell what stands between layers from the gradients at the end of a step."""
    if sum(traffic.per_step.values()) >= MANY_PER_STEP and min(traffic.early.values()) < EARLY:
        return "tp"
    return "dp" if traffic.most_bytes < 0 or traffic.most_bytes > SMALL_BYTES else None


def stages(
    ops: Ops, lanes: Sequence[JobLane], found: Matching, kind: Sequence[str], layout: Layout | None
) -> list[int]:
    """Return the pipeline stage of every lane; all 0 without a pipeline.

    Without the user's layout: lanes that send to each other form chains; a chain is read from its
    end with the lowest lane.
    """
    ranks = [lane.rank for lane in lanes]
    if layout is not None and None not in ranks:
        return [layout.stage(rank) for rank in ranks if rank is not None]
    linked = _links(ops, found, kind)
    stage = [0] * len(lanes)
    seen: set[int] = set()
    ends = sorted(linked, key=lambda lane: (len(linked[lane]) > 1, lane))
    for begin in ends:
        if begin not in seen and len(linked[begin]) == NEIGHBOURS:
            # No end: the last of interleaved stages sends to the first. Go round one way.
            last = max(linked[begin])
            linked[begin].discard(last)
            linked[last].discard(begin)
        front, depth = {begin} - seen, 0
        while front:
            seen |= front
            for lane in front:
                stage[lane] = depth
            front, depth = {n for lane in front for n in linked[lane]} - seen, depth + 1
    return stage


def _links(ops: Ops, found: Matching, kind: Sequence[str]) -> dict[int, set[int]]:
    """Return the lanes that each lane sends to or receives from in a pipeline."""
    linked: dict[int, set[int]] = {}
    pairs = {
        each.lanes
        for each, name in zip(found.groups, kind, strict=True)
        if name == "pp" and len(each.lanes) == PAIR
    }
    pipelines = [number for number, name in enumerate(kind) if name == "pp"]
    some = np.isin(found.group_of[found.talks.one], pipelines)
    ends = np.stack([ops["lane"][side[some]] for side in (found.talks.one, found.talks.other)])
    pairs |= {(int(one), int(other)) for one, other in np.unique(ends, axis=1).T}
    for one, other in pairs:
        linked.setdefault(one, set()).add(other)
        linked.setdefault(other, set()).add(one)
    return linked


def peers(lanes: Sequence[JobLane], stage: Sequence[int]) -> list[int]:
    """Return a number per lane, equal for lanes of one stage that run the same kernels."""
    leads: list[int] = []
    number = []
    for lane in range(len(lanes)):
        fits = (
            k
            for k, lead in enumerate(leads)
            if stage[lead] == stage[lane] and _same_kernels(lanes[lead], lanes[lane])
        )
        place = next(fits, len(leads))
        if place == len(leads):
            leads.append(lane)
        number.append(place)
    return number


def _same_kernels(one: JobLane, other: JobLane) -> bool:
    for mine, theirs in ((one.kernels, other.kernels), (other.kernels, one.kernels)):
        lacking = sum(kernel.work_ns for name, kernel in mine.items() if name not in theirs)
        if lacking > OTHER_KERNELS * sum(kernel.work_ns for kernel in mine.values()):
            return False
    return True
