"""Runs of kernels that only move bytes, one after another on a stream.

A window function of the engine took minutes for what sorted arrays do in seconds.

``kernel_run``: (first, last, length, count, work_ns) of every kind of run of two or more, names by
their place in kernel_name.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Flags, Ints
from nsysflow.analyse.ops import KINDS, Ops, codes, column, columns
from nsysflow.analyse.workspace import Workspace

NO_STEP = -1
_FEW = np.iinfo(np.int16).max


def keep_runs(work: Workspace, ops: Ops) -> None:
    """Make ``kernel_run`` from the kernels that the kept steps own."""
    known = work.arrow("fusible_name")
    names = known["name_id"].to_numpy()
    fusible = known["fusible"].to_numpy(zero_copy_only=False)
    some, name = _owned_kernels(work, names)
    where = _places(work, some)
    start, length = ops.start[some], (ops.end - ops.start)[some]
    order = _in_turn(where, start, length, name)
    where, name, length = where[order], name[order], length[order]
    del some, start, order
    first, last = edges(fusible[name], [where])
    total = np.concatenate([[0], np.cumsum(length)])
    work.keep("kernel_run", _kinds(name[first], name[last], last - first + 1,
                                   total[last + 1] - total[first]))  # fmt: skip


def _owned_kernels(work: Workspace, names: Ints) -> tuple[Ints, Ints]:
    """Return the kernels of the kept steps, and the place of each one's name in ``names``."""
    found = columns(work, "kind", "name_id")
    owned = work.kept("op_step", "owned")["owned"].to_numpy()
    some = np.flatnonzero(owned & (found["kind"] == KINDS.index("kernel")))
    name = np.searchsorted(names, found["name_id"][some])
    named = np.append(names, 0)[name] == found["name_id"][some]
    named &= name < len(names)
    return some[named], name[named]


def _places(work: Workspace, some: Ints) -> Ints:
    """Return equal numbers for kernels of one step on one stream."""
    step = work.kept("op_step", "step")["step"].fill_null(NO_STEP).to_numpy()[some]
    context, stream = column(work, "context")[some], column(work, "stream")[some]
    return codes(step.astype(np.int64), context, stream)


def _in_turn(where: Ints, start: Ints, length: Ints, name: Ints) -> Ints:
    """Return the kernels by place, then start, then length and name; they come by start."""
    small = where.astype(np.int16) if where.max(initial=0) < _FEW else where
    order = np.argsort(small, kind="stable")
    turn = start[order]
    if ((turn[1:] == turn[:-1]) & (where[order][1:] == where[order][:-1])).any():
        order = np.lexsort((name, length, start, where))
    return order


def edges(fusible: Flags, place: list[Ints]) -> tuple[Ints, Ints]:
    """Return the first and last row of every run of two or more on one stream in one step."""
    if not len(fusible):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    moved = np.zeros(len(fusible) - 1, np.bool_)
    for each in place:
        moved |= each[1:] != each[:-1]
    joined = fusible[1:] & fusible[:-1] & ~moved
    padded = np.concatenate([[False], joined, [False]])
    first = np.flatnonzero(padded[1:] & ~padded[:-1])
    last = np.flatnonzero(~padded[1:] & padded[:-1])
    return first, last


def _kinds(first: Ints, last: Ints, length: Ints, work_ns: Ints) -> pa.Table:
    """Add up the runs that begin and end with the same kernels and are equally long."""
    runs = pa.table({"first": first, "last": last, "length": length, "work_ns": work_ns})
    kinds = runs.group_by(["first", "last", "length"]).aggregate(
        [("work_ns", "sum"), ("work_ns", "count")]
    )
    return kinds.rename_columns({"work_ns_sum": "work_ns", "work_ns_count": "count"}).sort_by(
        [("first", "ascending"), ("last", "ascending"), ("length", "ascending")]
    )
