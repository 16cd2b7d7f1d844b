"""Whether attention stands beside a collective, in the order in which a program asks for both."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Ints
from nsysflow.analyse.ops import NEVER, Ops, arrays, columns
from nsysflow.analyse.workspace import Workspace
from nsysflow.model import CLASSES

# What only moves, casts or rotates values says nothing of the place in a model.
TELLING = (
    "attention", "gemm", "conv", "fused_comm_gemm", "norm", "loss_softmax", "moe", "embedding",
    "optimizer",
)  # fmt: skip
_ATTENTION = CLASSES.index("attention")


def keep_beside(work: Workspace, ops: Ops) -> None:
    """Make ``comm_beside``: (op_no, beside), a row per communication op if any kernel tells.

    ``beside``: attention was asked for right before it or right after it.
    """
    comm = arrays(work.kept("comm_op", "op_no", "start_ns", "launch_start_ns", "graph_node"))
    at, attention = _telling(work, ops) if len(comm["op_no"]) else (comm["op_no"], comm["op_no"])
    some = slice(None) if len(at) else slice(0)
    asked = _asked(comm["start_ns"], comm["launch_start_ns"], comm["graph_node"])[some]
    before = np.searchsorted(at, asked, side="right") - 1
    after = np.searchsorted(at, asked, side="left")
    beside = np.zeros(len(asked), np.int32)
    for near, known in ((before, before >= 0), (after, after < len(at))):
        moment = at[near[known]]
        # Of kernels asked for in one moment any may be the one.
        first = np.searchsorted(at, moment, side="left")
        last = np.searchsorted(at, moment, side="right")
        beside[known] |= attention[last] > attention[first]
    work.keep("comm_beside", pa.table({"op_no": comm["op_no"][some], "beside": beside}))


def _telling(work: Workspace, ops: Ops) -> tuple[Ints, Ints]:
    """Return when the telling kernels were asked for, ascending, and how many before are attention.

    The latter has one place more: all of them.
    """
    found = columns(work, "class", "launch_start_ns", "graph_node")
    telling = np.isin(found["class"], [CLASSES.index(name) for name in TELLING])
    some = np.flatnonzero(ops.is_compute & telling)
    at = _asked(ops.start[some], found["launch_start_ns"][some], found["graph_node"][some])
    order = np.argsort(at, kind="stable")
    attention = found["class"][some][order] == _ATTENTION
    return at[order], np.append(0, np.cumsum(attention))


def _asked(start: Ints, launch: Ints, node: Ints) -> Ints:
    """Return when each op was asked for; one that a graph ran, or without a call, as it begins."""
    return np.where((launch == NEVER) | (node != NEVER), start, launch)
