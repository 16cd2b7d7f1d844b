"""Compute time along its two axes: by class of kernel and by phase of training."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from nsysflow.analyse.annotate import Annotated, Annotation
from nsysflow.analyse.coverage import Coverage, Flags, Ints, first_come
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.ops import KINDS, NEVER, column, columns
from nsysflow.analyse.workspace import Workspace
from nsysflow.model import CLASSES, PHASES

# What no range and no kernel name tells is left over, not a row.
KNOWN = [{"place": k, "phase": phase} for k, phase in enumerate(PHASES) if phase != "unknown"]
FORWARD, RECOMPUTE, BACKWARD, OTHER, UNKNOWN = (
    PHASES.index(name) for name in ("forward", "recompute", "backward", "other", "unknown")
)

# No class: communication.
COMM = 255


def measure_classes(work: Workspace, facts: Facts) -> None:
    """Make ``class_time``: (step, place, time_ns), an instant under the first class that runs."""
    some = np.flatnonzero(facts.ops.long & facts.ops.is_compute)
    place = column(work, "class")[some]
    place[place == NEVER] = CLASSES.index("other")
    _keep_axis(work, facts, "class_time", some, place)


def measure_class_work(work: Workspace, facts: Facts) -> None:
    """Make ``class_work``: the kept steps' kernels by class, communication included."""
    name = columns(work, "kind", "class")
    owned = work.kept("op_step")["owned"].to_numpy()
    some = np.flatnonzero(owned & (name["kind"] == KINDS.index("kernel")))
    start, end, place = facts.ops.start[some], facts.ops.end[some], name["class"][some]
    place[place == NEVER] = COMM
    rows = []
    for one in np.unique(place).tolist():
        mine = place == one
        cover = Coverage.of(start[mine], end[mine])
        work_ns = int((end[mine] - start[mine]).sum())
        rows.append(
            {
                "class_rank": one,
                "count": int(mine.sum()),
                "work_ns": work_ns,
                "busy_ns": int(cover.covered[-1]),
            }
        )
    work.put(
        "class_work", rows, dict.fromkeys(("class_rank", "count", "work_ns", "busy_ns"), "int64")
    )


def measure_phases(work: Workspace, facts: Facts) -> None:
    """Attribute launches to ranges, and make ``phase_time`` from that, as ``class_time``."""
    found = Annotation(work, facts).run()
    work.put("phase", KNOWN, {"place": "uint8", "phase": "string"})
    work.table("path_phase")
    some = np.flatnonzero(found.asked & facts.ops.long & facts.ops.is_compute)
    place = _phase(work, found, some)
    known = place != UNKNOWN
    _keep_axis(work, facts, "phase_time", some[known], place[known])


def _phase(work: Workspace, found: Annotated, some: Ints) -> Ints:
    """Return the phase of each of some compute kernels.

    A range that tells a phase speaks; autograd's threads run backward, and a forward kernel there
    is computed a second time; else the kernel's own name, then that there was a range at all.
    """
    told = work.kept("path_phase")
    by_path = np.full(found.paths + 1, UNKNOWN, np.int64)
    by_path[told["path"].to_numpy()] = _numbers(told["phase"])
    ranged = by_path[found.path[some]]
    named = work.arrow("name_phase")
    names, phases = named["name_id"].to_numpy(), np.append(_numbers(named["phase"]), UNKNOWN)
    name = column(work, "name_id")[some]
    at = np.searchsorted(names, name)
    known = np.append(names, NEVER)[at] == name
    anchor = phases[np.where(known, at, len(names))]
    helpers = work.arrow("helper_thread")["thread"].to_numpy()
    helping: Flags = np.isin(column(work, "launch_thread")[some], helpers)
    again = np.where(anchor == FORWARD, RECOMPUTE, BACKWARD)
    own = np.where(anchor == UNKNOWN, ranged, anchor)
    weak = (ranged == UNKNOWN) | (ranged == OTHER)
    return np.where(weak, np.where(helping, again, own), ranged)


def _numbers(phases: pa.ChunkedArray) -> Ints:
    return np.array([PHASES.index(phase) for phase in phases.to_pylist()], np.int64)


def _keep_axis(work: Workspace, facts: Facts, name: str, some: Ints, place: Ints) -> None:
    kept = facts.kept
    times = first_come(facts.ops.start[some], facts.ops.end[some], place, (kept.start, kept.end))
    rows = [
        {"step": int(step), "place": one, "time_ns": int(ns)}
        for one, column in times.items()
        for step, ns in zip(kept.of, column, strict=True)
        if ns
    ]
    work.put(name, rows, {"step": "int32", "place": "int32", "time_ns": "int64"})
