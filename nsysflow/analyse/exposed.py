"""Communication and copies that nothing hides: each exposed instant under the op that ends last."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Coverage
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.intervals import Spans, overlaps
from nsysflow.analyse.ops import Ops
from nsysflow.analyse.workspace import Workspace

STATES = ("comm", "mem")


def hiding(ops: Ops, state: str) -> Coverage:
    """Return what hides communication (compute, graphs), or copies (all but copies)."""
    return ops.coverage(ops.is_compute | ops.is_graph if state == "comm" else ~ops.is_copy)


def make_exposed(work: Workspace, facts: Facts, ops: Ops) -> None:
    """Make ``exposed``: what communication and copies of the kept windows are not hidden."""
    tables = [_owned(facts, ops, state, hiding(ops, state)) for state in STATES]
    work.keep("exposed_span", pa.concat_tables(tables))
    work.table("exposed")


def keep_islands(work: Workspace, ops: Ops, windows: Spans) -> None:
    """Make ``island``: where communication is hidden in some windows, with a running length."""
    start, end = hiding(ops, "comm").stretches()
    stretches = Spans(start, end, np.arange(len(start)))
    seen = np.zeros(len(start), np.bool_)
    seen[overlaps(stretches, windows)[0]] = True
    start, end = start[seen], end[seen]
    length = end - start
    work.keep(
        "island",
        pa.table({"start_ns": start, "end_ns": end, "covered_ns": np.cumsum(length) - length}),
    )


def _owned(facts: Facts, ops: Ops, state: str, cover: Coverage) -> pa.Table:
    """Cut the time of one kind of op among the ops, and at the edges of the kept windows."""
    long = ops.long
    place = np.cumsum(long & (ops.comm | ops.is_copy)) - 1
    mine = np.flatnonzero(long & (ops.comm if state == "comm" else ops.is_copy))
    # The store keeps no exact order of ends among long ops that begin together.
    mine = mine[np.lexsort((ops.end[mine], ops.start[mine]))]
    start, end = ops.start[mine], ops.end[mine]
    # An op that ends no later than one begun before it never is the one that ends last.
    last = np.ones(len(mine), bool)
    last[1:] = end[1:] > np.maximum.accumulate(end)[:-1]
    mine, start, end = mine[last], start[last], end[last]
    until = np.minimum(end, np.append(start[1:], end[-1:]))
    some = until > start
    owned = Spans(start[some], until[some], place[mine][some])
    _, window, part = overlaps(owned, facts.kept)
    return pa.table(
        {
            "state": pa.repeat(state, len(part)),
            "place": part.of,
            "step": facts.kept.of[window].astype(np.int32),
            "start_ns": part.start,
            "end_ns": part.end,
            "exposed_ns": part.length - cover.between(part.start, part.end),
        }
    )
