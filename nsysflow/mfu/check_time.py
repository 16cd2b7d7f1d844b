"""Checks of the step time, and of MFU against what the GPU was seen to do."""

from __future__ import annotations

from nsysflow.mfu.estimate import Estimate
from nsysflow.mfu.flops import given
from nsysflow.mfu.verdict import OK, SUSPICIOUS, UNKNOWN, WRONG, Findings, percent

# No training run that was published reaches more.
PLAUSIBLE = 0.60
# Arithmetic in the time of the kernels that do it: no mix of kernels comes closer to the peak.
AT_PEAK = 0.95
STEP_TIME = 0.03
LANES_APART = 0.01
SURE = 0.5
FEW_STEPS = 3


def plausible(found: Estimate) -> Findings:
    """Can MFU be what it is?"""
    if found.mfu is None:
        return
    share = percent(found.mfu)
    if found.mfu > 1:
        yield WRONG, f"MFU would be {share}, more than the peak: {_look(found)}"
    elif found.mfu >= PLAUSIBLE:
        yield SUSPICIOUS, f"MFU is {share}, and training rarely passes 60 %: {_look(found)}"
    else:
        yield OK, f"MFU of {share} is possible"


def _look(found: Estimate) -> str:
    size = "flops_per_token" if given(found.model, "flops_per_token") else "params"
    peak = "peak_tflops" if found.peak.given else "dtype"
    time = ", step_time_ms" if found.time_given else ""
    return f"look at {peak}, tokens_per_step, world_size{time} and {size}"


def tensor_time(found: Estimate) -> Findings:
    """Did kernels run long enough for the arithmetic?"""
    buckets = found.measured.buckets
    window = buckets["window_ns"]
    if found.hfu is None or found.hfu > 1 or window <= 0 or found.measured.period_ns is None:
        return
    kernels = buckets["compute_only"] + buckets["compute_comm_overlap"] + buckets["graph_opaque"]
    most, tensor = kernels / window, found.measured.tensor_ns / window
    needs = f"at peak the arithmetic would take {percent(found.hfu)} of the step"
    if found.hfu > AT_PEAK * most:
        yield WRONG, f"{needs}, but kernels run for {percent(most)}: {_look(found)}"
    elif found.hfu > AT_PEAK * tensor:
        text = f"{needs}, but matrix kernels run for {percent(tensor)}: name them in [kernels]"
        yield SUSPICIOUS, f"{text}, trace graphs by node, or {_look(found)}"
    else:
        text = f"matrix kernels run for {percent(tensor)} of the step"
        yield OK, f"{text}, on average at {percent(found.hfu / tensor)} of the peak"


def step_time(found: Estimate) -> Findings:
    """Is the step time that of a steady step without the profiler?"""
    if found.seconds is None:
        return
    if found.time_given and found.profiled_s is None:
        yield UNKNOWN, "step_time_ms is taken as given: no steps were measured to compare"
        return
    if found.time_given and found.profiled_s is not None:
        longer = found.profiled_s / found.seconds - 1
        text = f"profiled steps take {percent(longer, '+')} against step_time_ms, which MFU uses"
        yield (OK if abs(longer) <= STEP_TIME else SUSPICIOUS), text
        return
    yield UNKNOWN, "give step_time_ms, unprofiled, to learn how much profiling slowed the run"


def steps(found: Estimate) -> Findings:
    """Are the windows the steps that the tokens belong to?"""
    measured = found.measured
    if not measured.period_ns or found.time_given:
        return
    if measured.spread_frac is not None and measured.spread_frac > LANES_APART:
        apart = f"step times of the ranks lie {percent(measured.spread_frac)} apart"
        yield SUSPICIOUS, f"{apart}: wrong windows, or not one job"
    text = f"{measured.kept} kept steps, confidence {measured.confidence:.2f}"
    if measured.confidence < SURE:
        yield SUSPICIOUS, f"{text}: a window may not be the step that the tokens belong to"
    elif measured.kept < FEW_STEPS:
        yield UNKNOWN, f"{text}: too few to know a steady step time"
    else:
        mean, median = measured.period_ns, measured.median_ns or measured.period_ns
        slow = f"; the mean, which MFU uses, is {percent(mean / median - 1, '+')} from the median"
        yield OK, text + (slow if abs(mean / median - 1) > STEP_TIME else "")
