"""How fast the host launches, and how far it runs ahead of the GPU."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Ints
from nsysflow.analyse.ops import KINDS, NEVER, Ops, codes, column, columns
from nsysflow.analyse.workspace import Workspace


def make_launch_pace(work: Workspace, ops: Ops) -> None:
    """Make ``launch_pace``: one row of medians over the kernels that the kept steps launched.

    Columns: ``interval_ns`` between a thread's launches within a step, and ``kernel_ns``, their
    durations, both without nodes of graphs; ``depth``, the kernels launched before one and not yet
    over. NULL where nothing was launched.
    """
    launch = columns(work, "launch_thread", "launch_start_ns", "graph_node")
    step = work.kept("op_step")
    owned = step["owned"].to_numpy() & (column(work, "kind") == KINDS.index("kernel"))
    asked = np.flatnonzero(owned & (launch["launch_start_ns"] != NEVER))
    thread, at = launch["launch_thread"][asked], launch["launch_start_ns"][asked]
    alone = launch["graph_node"][asked] == NEVER
    number = step["step"].fill_null(-1).to_numpy()[asked]
    del launch, step, owned
    medians = {
        "kernel_ns": _median((ops.end[asked] - ops.start[asked])[alone]),
        "depth": _median(_depth(at, ops.end[asked])),
    }
    del asked
    medians["interval_ns"] = _median(_between(at[alone], thread[alone], number[alone]))
    row = {name: pa.array([value], pa.float64()) for name, value in medians.items()}
    work.keep("launch_pace", pa.table(row))


def _between(at: Ints, thread: Ints, step: Ints) -> Ints:
    """Return the times from launch to launch of a thread; between steps it does other things."""
    order = np.argsort(at, kind="stable")
    group = codes(thread, step)[order]
    order = order[np.argsort(group, kind="stable")]
    group = np.sort(group, kind="stable")
    found: Ints = np.diff(at[order])[np.diff(group) == 0]
    return found


def _depth(at: Ints, end: Ints) -> Ints:
    """Return how many were launched before each launch and run or wait still."""
    sound = end >= at
    at, end = np.sort(at[sound]), np.sort(end[sound])
    # What ends as a launch begins is over; the launched kernel itself does not count.
    return np.arange(len(at)) - np.searchsorted(end, at, side="right")


def _median(values: Ints) -> float | None:
    return float(np.median(values)) if len(values) else None
