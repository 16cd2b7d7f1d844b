"""Which ops the kept steps asked for, wherever they ran."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Ints
from nsysflow.analyse.intervals import Spans
from nsysflow.analyse.ops import NEVER, Ops, column
from nsysflow.analyse.windows import Steps
from nsysflow.analyse.workspace import Workspace

NO_STEP = -1


def own_ops(work: Workspace, ops: Ops, steps: Steps, kept: Spans, *, whole: bool) -> None:
    """Make ``op_step``: for each op of the lane, in their order, whether it is owned, and its step.

    A step owns what was launched inside its host range; what has no recorded launch, or in a lane
    whose steps are told by the device, what begins inside its window. ``whole``: everything is.
    """
    at = _inside(ops.start, kept.start, kept.end)
    if not steps.by_start and steps.source != "none":
        hosts = sorted((*window.host, place) for place, window in enumerate(steps.kept))
        start, end, place = (np.array(column, np.int64) for column in zip(*hosts, strict=True))
        launch = column(work, "launch_start_ns")
        asked = _inside(launch, start, end)
        asked = np.where(asked >= 0, place[asked], NO_STEP)
        at = np.where(launch == NEVER, at, asked)
    found = at >= 0
    step = pa.array(kept.of[at].astype(np.int32), mask=~found)
    owned = np.ones(len(ops), bool) if whole else found
    work.keep("op_step", pa.table({"owned": owned, "step": step}))


def _inside(times: Ints, start: Ints, end: Ints) -> Ints:
    """Return which of the ranges, ascending and apart, holds each time; -1 where none does."""
    last = np.searchsorted(start, times, side="right") - 1
    return np.where((last >= 0) & (times < end[last]), last, NO_STEP)
