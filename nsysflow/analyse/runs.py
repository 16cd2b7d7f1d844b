"""Runs of kernels that only move bytes, one after another on a stream.

A window function of the engine took minutes for what sorted arrays do in seconds.

``kernel_run``: (first, last, length, count, work_ns) of every kind of run of two or more, names by
their place in kernel_name.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nsysflow.analyse.intervals import Ints
from nsysflow.analyse.workspace import Workspace


def keep_runs(work: Workspace) -> None:
    """Make ``kernel_run`` from the kernels that the kept steps own."""
    table = work.arrow("kernel_order")
    column = {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}
    del table
    keys = ("name", "dur_ns", "start_ns", "stream", "context", "step")
    order = np.lexsort([column[key] for key in keys])
    place = [column.pop(key)[order] for key in ("stream", "context", "step")]
    fusible, name, dur = (column[key][order] for key in ("fusible", "name", "dur_ns"))
    first, last = edges(fusible, place)
    total = np.concatenate([[0], np.cumsum(dur)])
    work.keep("kernel_run", _kinds(name[first], name[last], last - first + 1,
                                   total[last + 1] - total[first]))  # fmt: skip


def edges(fusible: npt.NDArray[np.bool_], place: list[Ints]) -> tuple[Ints, Ints]:
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
