"""From the peak down to MFU: every share of the step that is not useful arithmetic, by its name."""

from __future__ import annotations

from typing import Any

from nsysflow.mfu.measured import Measured
from nsysflow.shares import fracs

NAMES = (
    "mfu", "recompute", "tensor_inefficiency", "non_tensor_compute", "exposed_comm",
    "pipeline_bubble", "exposed_mem", "graph_opaque", "idle",
)  # fmt: skip


def waterfall(mfu: float, hfu: float, measured: Measured) -> list[dict[str, Any]]:
    """Return the bars, each a share of the peak, summing to exactly 1; none if one is negative.

    Useful and repeated arithmetic are given the time they would take at peak; what is left of the
    tensor kernels' time was lost inside them. All else is the time of the states themselves.
    """
    buckets = measured.buckets
    window = buckets["window_ns"]
    useful, spent = round(mfu * window), round(hfu * window)
    compute = buckets["compute_only"] + buckets["compute_comm_overlap"]
    parts = {
        "mfu": useful,
        "recompute": spent - useful,
        "tensor_inefficiency": measured.tensor_ns - spent,
        "non_tensor_compute": compute - measured.tensor_ns,
        "exposed_comm": buckets["exposed_comm"] - measured.bubble_ns,
        "pipeline_bubble": measured.bubble_ns,
        "exposed_mem": buckets["exposed_mem"],
        "graph_opaque": buckets["graph_opaque"],
        "idle": buckets["idle"],
    }
    if window <= 0 or min(parts.values()) < 0:
        return []
    shares = fracs([parts[name] for name in NAMES], window)
    return [{"name": name, "frac": share} for name, share in zip(NAMES, shares, strict=True)]
