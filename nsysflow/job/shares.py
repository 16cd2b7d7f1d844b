"""A lane's share of the job's collectives: its exposed parts, its waiting and transfer by op."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from nsysflow.job.exposed import sums
from nsysflow.job.lanes import NEVER, NONE, SOURCES, Ints
from nsysflow.job.study import Study
from nsysflow.model import COLLECTIVE_OPS

Key = tuple[str, str, str | None]
# Below this share of its time split, an operation's waiting and transfer are not told.
SPLIT = 0.80
# Of S = bytes x ranks, and of the bandwidth, by operation: nccl-tests' factors.
_TIMES_RANKS = ("all_gather", "reduce_scatter", "all_to_all", "gather", "scatter")
NS_PER_S = 1_000_000_000


@dataclass(frozen=True)
class LaneShare:
    """``parts``: exposed communication by part; ``items``: facts of each row of collectives."""

    parts: dict[str, int]
    items: dict[Key, dict[str, Any]]


def factors(op: str, ranks: int) -> tuple[int, float]:
    """Return what bytes and algorithm bandwidth are multiplied by, for size and bus bandwidth."""
    if op == "all_reduce":
        return 1, 2 * (ranks - 1) / ranks
    return (ranks, (ranks - 1) / ranks) if op in _TIMES_RANKS else (1, 1.0)


def transfers(study: Study) -> Ints:
    """Return for every instance how long bytes moved: the longest transfer of its members."""
    rows, until = study.members.op, study.waits.until[study.members.op]
    moved = np.where(until == NEVER, NONE, study.ops["end_ns"][rows] - until)
    return study.members.most(moved)


def bandwidth(op: str, ranks: int, sizes: Ints, times: Ints) -> tuple[float | None, float | None]:
    """Return algorithm and bus bandwidth in bytes/s over instances; None without usable ones."""
    some = (sizes >= 0) & (times > 0)
    if ranks < 2 or not some.any():  # noqa: PLR2004 - one rank moves nothing
        return None, None
    size, bus = factors(op, ranks)
    algbw = int(sizes[some].sum()) * size * NS_PER_S / int(times[some].sum())
    return round(algbw, 1), round(algbw * bus, 1)


def lane_share(study: Study, lane: int, moved: Ints) -> LaneShare:
    """Return a lane's share; ``moved`` as ``transfers`` gives it."""
    ops = study.ops
    last = study.first_op[lane + 1] if lane + 1 < len(study.lanes) else len(ops)
    rows = np.arange(study.first_op[lane], last)
    rows = rows[ops.owned[rows]]
    keys = np.stack([ops["op"][rows], ops["source"][rows], ops["comm"][rows]])
    found, place = np.unique(keys, axis=1, return_inverse=True)
    place = place.reshape(-1)
    items = {
        _name(study, found[:, k]): _item(study, rows[place == k], moved)
        for k in range(found.shape[1])
    }
    return LaneShare(sums(*study.exposed(lane)), items)


def _name(study: Study, key: Ints) -> Key:
    op, source, comm = (int(x) for x in key)
    return COLLECTIVE_OPS[op], SOURCES[source], None if comm == NONE else study.ops.comms[comm]


def _item(study: Study, rows: Ints, moved: Ints) -> dict[str, Any]:
    ops, until = study.ops, study.waits.until[rows]
    split = until != NEVER
    length = ops["end_ns"][rows] - ops["start_ns"][rows]
    told = bool(split.any()) and int(length[split].sum()) >= SPLIT * int(length.sum())
    wait = int((until - ops["start_ns"][rows])[split].sum())
    transfer = int((ops["end_ns"][rows] - until)[split].sum())
    instance = study.found.instance[rows]
    matched = instance != NONE
    group = np.unique(study.found.group[instance[matched]])
    kind, members = "unknown", None
    algbw, busbw = None, None
    if len({study.kind[g] for g in group}) == 1:
        kind = study.kind[group[0]]
    if len(sizes := {_size(study, int(g)) for g in group}) == 1:
        (members,) = sizes
        op = COLLECTIVE_OPS[int(ops["op"][rows[0]])]
        some = split & matched
        algbw, busbw = bandwidth(op, members, ops["bytes"][rows[some]], moved[instance[some]])
    return {
        "kind": kind,
        "members": members,
        "wait_ns": wait if told else None,
        "transfer_ns": transfer if told else None,
        "algbw_bytes_per_s": algbw,
        "busbw_bytes_per_s": busbw,
    }


def _size(study: Study, group: int) -> int:
    found = study.found.groups[group]
    return found.size or len(found.lanes)
