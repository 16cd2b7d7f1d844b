"""What MFU needs of the measurement, read from the result documents of one lane or of all."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nsysflow.mfu.peaks import Device
from nsysflow.model import BUCKETS
from nsysflow.shares import median_ns

Document = Mapping[str, Any]

# The classes whose FLOPs a model counts; an instant with one of them is tensor time.
TENSOR_CLASSES = ("attention", "gemm", "conv", "fused_comm_gemm")
# A unit of the kernel sequence without proof that it is a step comes with no more than this.
_REPEATING_UNIT = 0.4
_NAME_STEPS = "name step ranges (--step-range)"


@dataclass(frozen=True)
class Measured:
    """One lane, or all lanes of a job together.

    ``period_ns`` is the mean kept step, of a job the median over lanes; None where the windows are
    no steps, and then ``no_steps`` says why and what would give some. ``confidence`` and ``kept``
    are the lowest over the lanes. ``buckets`` (with window_ns), ``tensor_ns`` and ``bubble_ns`` are
    sums over kept windows. ``devices`` has one entry per lane, ``ranks`` those that are known,
    ``world`` how many ranks the captures say there are, ``captured`` how many lanes of the job
    there are, if that is known: also of one lane. ``spread_frac`` is how far the lanes' periods lie
    apart, less those with a kept step whose start was not seen (``unseen_start``).
    """

    period_ns: int | None
    median_ns: int | None
    kept: int
    confidence: float
    buckets: Mapping[str, int]
    tensor_ns: int
    bubble_ns: int
    devices: Sequence[Device]
    kernels: Sequence[Mapping[str, Any]] = ()
    ranks: Sequence[int] = ()
    world: int | None = None
    captured: int | None = None
    no_steps: str | None = None
    spread_frac: float | None = None
    unseen_start: bool = False


def of_lane(document: Document, world: int | None, captured: int | None) -> Measured:
    """Read a rank document whose steps, buckets, causes and kernels stand."""
    steps, lane = document["steps"], document["lane"]
    no_steps = _no_steps(steps)
    gpu = lane["gpu"]
    device = Device(gpu["name"], gpu["sm_count"]) if gpu else Device(None)
    compute = document["causes"]["compute"]
    kernels = document["kernels"]
    return Measured(
        period_ns=None if no_steps else steps["period_ns"],
        median_ns=None if no_steps else steps["median_ns"],
        kept=steps["kept"],
        confidence=steps["confidence"],
        buckets=document["buckets"],
        tensor_ns=sum(compute.get(name, 0) for name in TENSOR_CLASSES),
        bubble_ns=document["causes"]["exposed_comm"]["pipeline_bubble"],
        devices=(device,),
        kernels=kernels["top"] if kernels["status"] == "ok" else (),
        ranks=() if lane["rank"] is None else (lane["rank"],),
        world=world,
        captured=captured,
        no_steps=no_steps,
        unseen_start=any(
            "leading_gap_unseen" in item["flags"] for item in steps["items"] if item["kept"]
        ),
    )


def of_job(documents: Sequence[Document], world: int | None) -> Measured:
    """Add up the lanes; lanes without steps count with their device and rank only."""
    lanes = [of_lane(document, world, len(documents)) for document in documents]
    stepped = [lane for lane in lanes if lane.period_ns]
    periods = [lane.period_ns for lane in stepped if lane.period_ns]
    period = median_ns(periods)
    comparable = [lane.period_ns for lane in stepped if lane.period_ns and not lane.unseen_start]
    names = ("window_ns", *BUCKETS)
    return Measured(
        period_ns=period,
        median_ns=median_ns([lane.median_ns for lane in stepped if lane.median_ns]),
        kept=min((lane.kept for lane in stepped), default=0),
        confidence=min((lane.confidence for lane in stepped), default=0.0),
        buckets={name: sum(lane.buckets[name] for lane in stepped) for name in names},
        tensor_ns=sum(lane.tensor_ns for lane in stepped),
        bubble_ns=sum(lane.bubble_ns for lane in stepped),
        devices=tuple(device for lane in lanes for device in lane.devices),
        kernels=[row for lane in stepped for row in lane.kernels],
        ranks=sorted(rank for lane in lanes for rank in lane.ranks),
        world=world,
        captured=len(lanes),
        no_steps=None if stepped else next((lane.no_steps for lane in lanes), "no lane"),
        spread_frac=_spread(comparable),
    )


def _spread(periods: Sequence[int]) -> float | None:
    return (max(periods) - min(periods)) / min(periods) if periods else None


def _no_steps(steps: Mapping[str, Any]) -> str | None:
    if steps["status"] != "ok" or not steps["period_ns"]:
        return f"no steps were measured: {_NAME_STEPS}"
    if steps["source"] == "none" and steps.get("chosen"):
        return "the chosen time holds no whole step: choose --from and --to around several"
    if steps["source"] == "none":
        return f"no training steps were found: {_NAME_STEPS}"
    if steps["source"] == "sequence" and steps["confidence"] <= _REPEATING_UNIT:
        unproven = "the kernels repeat, but nothing shows that the repeating unit is a step"
        return f"{unproven}: {_NAME_STEPS}"
    return None
