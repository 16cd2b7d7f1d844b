"""How fast a GPU computes against its peers: its kernels, and its clock where that was sampled."""

from __future__ import annotations

from collections.abc import Sequence

from nsysflow.job.lanes import JobLane
from nsysflow.job.table import read_table
from nsysflow.shares import median_ns

# Below this share of the fastest rank's speed a GPU is called slow.
SLOW = 0.95
# A clock this far below the peers' is lower, not jitter.
LOWER = 0.98
KHZ_PER_MHZ = 1_000
CLOCK_NOT_RECORDED = "GPU clocks were not recorded (--gpu-metrics-devices=all)"


def score(lane: JobLane, peers: Sequence[JobLane]) -> list[str]:
    """Say how fast the lane's kernels are against the fastest rank's, if that is slow.

    Of each kernel that all run, the shortest median over the lane's, weighted by the lane's time.
    """
    total, fast = 0, 0.0
    for name, kernel in lane.kernels.items():
        others = [peer.kernels[name].median_ns for peer in peers if name in peer.kernels]
        if len(others) == len(peers) and kernel.median_ns:
            total += kernel.work_ns
            fast += kernel.work_ns * min(kernel.median_ns, *others) / kernel.median_ns
    if not total or fast >= SLOW * total:
        return []
    return [f"its kernels run at {fast / total:.2f} of the fastest rank's speed"]


def clock(lane: JobLane, peers: Sequence[JobLane]) -> str:
    """Compare the sampled clock of the GPU with its peers', or say that it was not recorded."""
    own = _median_khz(lane)
    others = median_ns([khz for peer in peers if (khz := _median_khz(peer)) is not None])
    if own is None or others is None:
        return CLOCK_NOT_RECORDED
    shown = f"{own // KHZ_PER_MHZ} MHz, its peers' at {others // KHZ_PER_MHZ} MHz in the median"
    if own < LOWER * others:
        return f"its SM clock ran at {shown}: look at power and temperature"
    return f"its SM clock ran at {shown}: the clock is not the reason"


def _median_khz(lane: JobLane) -> int | None:
    table = read_table(lane.folder / "lane_metric.parquet").to_pylist()
    return next((int(row["median"]) for row in table if row["metric"] == "sm_clock"), None)
