"""The device work of each place in the code: summed, and each instant once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Flags, alone, by_group
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.nesting import Ints
from nsysflow.analyse.workspace import Workspace


@dataclass(frozen=True)
class Placed:
    """Where ops were launched: ``path`` by op, -1 for nowhere; ``asked`` are the ops that count.

    ``also`` were launched in ``also_path`` too, which is neither their own path nor above it.
    """

    asked: Flags
    path: Ints
    also: Ints
    also_path: Ints


def keep_work(work: Workspace, facts: Facts, placed: Placed, parent: Ints) -> None:
    """Make ``path_leaf`` and ``path_shared``: work of the ops at each place, and of those alone.

    Also ``path_union``: of ops that ran beside others, each instant once, those below included.
    """
    ops = facts.ops
    some = np.flatnonzero(placed.asked & ops.long & (placed.path >= 0))
    single = alone(ops.start[some], ops.end[some])
    work.keep("path_leaf", _sums_of(facts, some, placed.path[some], single, len(parent)))
    real = ops.long[placed.also]
    also, also_path = placed.also[real], placed.also_path[real]
    is_single = np.zeros(len(ops), bool)
    is_single[some[single]] = True
    shares = is_single[also]
    work.keep("path_shared", _sums_of(facts, also, also_path, shares, len(parent)))
    mine = (placed.path[some[~single]], some[~single])
    work.keep("path_union", unions(facts, mine, (also_path[~shares], also[~shares]), parent))


def unions(
    facts: Facts, mine: tuple[Ints, Ints], also: tuple[Ints, Ints], parent: Ints
) -> pa.Table:
    """Return the union of the ops at each place and below it, given (path, op) pairs.

    Those of ``also`` count at their path alone. One depth at a time: an op is at one place of each,
    so pairs never are more than ops.
    """
    depth = _depths(parent)
    path, op = mine
    union: dict[int, int] = {}
    for level in range(int(depth.max(initial=-1)), -1, -1):
        here, beside = depth[path] == level, depth[also[0]] == level
        every = np.concatenate([op[here], also[1][beside]])
        paths = np.concatenate([path[here], also[0][beside]])
        union |= by_group(paths, facts.ops.start[every], facts.ops.end[every])
        path = np.where(here, parent[path], path)
        path, op = path[path >= 0], op[path >= 0]
    columns = [np.array(list(part), np.int64) for part in (union.keys(), union.values())]
    return pa.table(columns, names=["path", "union_ns"])


def _depths(parent: Ints) -> Ints:
    depth = np.zeros(len(parent), np.int64)
    above = parent
    while (above >= 0).any():
        depth += above >= 0
        above = np.where(above >= 0, parent[above], above)
    return depth


def sums(place: Ints, values: Ints, size: int) -> Ints:
    """Add up values by place, exactly."""
    found = np.zeros(size, np.int64)
    np.add.at(found, place, values)
    return found


def _sums_of(facts: Facts, op: Ints, path: Ints, single: Flags, size: int) -> pa.Table:
    length = facts.ops.end[op] - facts.ops.start[op]
    columns = {
        "path": np.arange(size),
        "work_ns": sums(path, length, size),
        "alone_ns": sums(path[single], length[single], size),
    }
    return pa.table(columns)
