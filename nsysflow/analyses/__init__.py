"""The table of contents: one module per question, in the order of the report."""

from __future__ import annotations

from nsysflow.analyses import (
    api,
    collectives,
    gaps,
    kernels,
    memory,
    nvtx,
    os_calls,
    overlap,
    streams,
    syncs,
)
from nsysflow.analyses.base import Analysis

ANALYSES: tuple[Analysis, ...] = (
    overlap.ANALYSIS,
    gaps.ANALYSIS,
    syncs.ANALYSIS,
    kernels.ANALYSIS,
    streams.ANALYSIS,
    collectives.ANALYSIS,
    memory.ANALYSIS,
    nvtx.ANALYSIS,
    api.ANALYSIS,
    os_calls.ANALYSIS,
)
