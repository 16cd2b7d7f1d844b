"""Where every nanosecond of each window went: six states that sum to its length."""

from __future__ import annotations

import pyarrow as pa

from nsysflow.analyse.coverage import Flags, Ints
from nsysflow.analyse.ops import Ops
from nsysflow.analyse.workspace import Workspace


def measure_level1(work: Workspace, ops: Ops, segment: pa.Table) -> None:
    """Make ``level1``: one row per row of ``segment``, times in ns.

    An op's rank decides what an instant counts as: compute and communication, whole graphs,
    communication alone, copies, nothing. With C, G, N for the instants of compute, graph rows and
    communication, each state is a difference of unions: exposed = |C or G or N| - |C or G|, the
    overlap = |C| + |N| - |C or N|, and so on. ``opaque_ns`` is communication that ran while only
    whole graphs did.
    """
    start, end = segment["start_ns"].to_numpy(), segment["end_ns"].to_numpy()
    compute, graph, comm = ops.is_compute, ops.is_graph, ops.comm

    def union(some: Flags | None) -> Ints:
        return ops.coverage(some).between(start, end)

    c, n, cn = union(compute), union(comm), union(compute | comm)
    cg, cgn = (union(compute | graph), union(~ops.is_copy)) if graph.any() else (c, cn)
    every = union(None)
    states = {
        "window_ns": end - start,
        "compute_only": cn - n,
        "compute_comm_overlap": c + n - cn,
        "exposed_comm": cgn - cg,
        "exposed_mem": every - cgn,
        "graph_opaque": cg - c,
        "idle": end - start - every,
        "opaque_ns": cn - c - (cgn - cg),
    }
    work.keep("level1", pa.table({"segment": segment["segment"]} | states))
