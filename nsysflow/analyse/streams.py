"""The streams of a lane: which one computes, and how busy each is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Coverage, Flags, Ints
from nsysflow.analyse.intervals import Spans
from nsysflow.analyse.ops import NEVER, Ops, codes, columns, nullable
from nsysflow.analyse.workspace import Row, Workspace

Key = tuple[int | None, int | None]


def primary_stream(work: Workspace, ops: Ops) -> Key:
    """Return (context, stream) of the stream that computes longest, the lowest id on ties."""
    work.table("stream_work")
    streams = work.kept("stream_work").to_pylist()
    compute = any(row["compute_sum"] for row in streams)
    bound = "compute_sum" if compute else "all_sum"
    counts = ops.long & (ops.is_compute | ops.is_graph) if compute else ops.long
    place = columns(work, "context", "stream")
    best: tuple[int, Row] | None = None
    # Summed durations bound the union from above: most streams need no union at all.
    for row in sorted(streams, key=lambda r: -r[bound]):
        if best is not None and row[bound] < best[0]:
            break
        mine = counts & _is(place["context"], row["context"]) & _is(place["stream"], row["stream"])
        busy = int(Coverage.of(ops.start[mine], ops.end[mine]).covered[-1:].sum())
        if best is None or (-busy, _id(row)) < (-best[0], _id(best[1])):
            best = (busy, row)
    assert best is not None  # noqa: S101 - a lane has at least one op, hence a stream
    return best[1]["context"], best[1]["stream"]


def _is(column: Ints, value: int | None) -> Flags:
    found: Flags = column == (NEVER if value is None else value)
    return found


def _id(row: Row) -> tuple[int, int]:
    return (row["stream"] or 0, row["context"] or 0)


def make_stream_time(work: Workspace, ops: Ops, kept: Spans) -> None:
    """Make ``stream_time``: one row per stream that runs something inside the kept windows.

    Columns: context, stream; ``count``, ops that begin there; ``compute`` (kernels and graphs),
    ``comm`` and ``copy``, of the ops that run there; ``busy_ns``, each instant once.
    """
    place = columns(work, "context", "stream")
    stream = codes(place["context"], place["stream"])
    last = np.searchsorted(kept.start, ops.start, side="right")
    begins = (last > 0) & (ops.start < kept.end[last - 1])
    here = begins | (np.append(kept.start, NEVER)[last] < ops.end) & (last < len(kept))
    order = np.argsort(stream, kind="stable")
    _, first = np.unique(stream[order], return_index=True)
    rows = []
    for mine in np.split(order, first[1:]):
        if not here[mine].any():
            continue
        long = mine[ops.long[mine]]
        busy = Coverage.of(ops.start[long], ops.end[long]).between(kept.start, kept.end)
        kinds = (ops.is_compute | ops.is_graph, ops.comm, ops.is_copy)
        counts = [int((here[mine] & kind[mine]).sum()) for kind in kinds]
        where = (int(place["context"][mine[0]]), int(place["stream"][mine[0]]))
        rows.append((*where, int(begins[mine].sum()), *counts, int(busy.sum())))
    names = ("context", "stream", "count", "compute", "comm", "copy", "busy_ns")
    values = np.array(rows, np.int64).reshape(-1, len(names)).T
    table = {name: nullable(column) for name, column in zip(names, values, strict=True)}
    work.keep("stream_time", pa.table(table))
