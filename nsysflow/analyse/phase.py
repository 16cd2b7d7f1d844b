"""Compute time along its two axes: by class of kernel and by phase of training."""

from __future__ import annotations

from nsysflow.analyse.annotate import Annotation
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.workspace import Workspace
from nsysflow.model import PHASES

# What no range and no kernel name tells is left over, not a row.
KNOWN = [{"place": k, "phase": phase} for k, phase in enumerate(PHASES) if phase != "unknown"]


def measure_classes(work: Workspace, facts: Facts) -> None:
    """Make ``class_time``."""
    work.view("compute_kernel")
    work.alias("axis_kernel", "compute_kernel")
    work.table("axis_time", shift=facts.shift)
    work.alias("class_time", "axis_time", copy=True)


def measure_phases(work: Workspace, facts: Facts) -> None:
    """Attribute launches to ranges, and make ``phase_time`` from that."""
    Annotation(work, facts).run()
    work.put("phase", KNOWN, {"place": "uint8", "phase": "string"})
    work.table("path_phase")
    work.table("phase_kernel")
    work.alias("axis_kernel", "phase_kernel")
    work.table("axis_time", shift=facts.shift)
    work.alias("phase_time", "axis_time", copy=True)
