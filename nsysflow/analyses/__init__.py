"""The table of contents: one module per question, in the order of the report."""

from __future__ import annotations

from nsysflow.analyses import (
    api,
    collectives,
    data_loading,
    efficiency,
    gaps,
    gpu_memory,
    kernels,
    launch,
    memory,
    nvtx,
    os_calls,
    overlap,
    recompute,
    streams,
    syncs,
)
from nsysflow.analyses.base import Analysis

ANALYSES: tuple[Analysis, ...] = (
    overlap.ANALYSIS,
    gaps.ANALYSIS,
    syncs.ANALYSIS,
    data_loading.ANALYSIS,
    launch.ANALYSIS,
    kernels.ANALYSIS,
    efficiency.ANALYSIS,
    recompute.ANALYSIS,
    streams.ANALYSIS,
    collectives.ANALYSIS,
    memory.ANALYSIS,
    gpu_memory.ANALYSIS,
    nvtx.ANALYSIS,
    api.ANALYSIS,
    os_calls.ANALYSIS,
)
