"""The arithmetic: tokens per second, MFU and HFU of one lane or a job."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from nsysflow.mfu.flops import Flops, Model, given, has_size, training_flops
from nsysflow.mfu.measured import Measured
from nsysflow.mfu.peaks import Peak, find_peak

NS = 1e9


@dataclass(frozen=True)
class Estimate:
    """Everything that goes into MFU and comes out of it, unrounded; None where it is not known.

    ``seconds`` is the step time used, ``profiled_s`` the one measured, ``time_given`` whether the
    user's unprofiled one is used. Rates are per GPU. ``lacks`` says why there is no ``mfu``, and
    ``sized`` whether the model says more than how many tokens there are.
    """

    model: Model
    measured: Measured
    flops: Flops
    peak: Peak
    tokens: float | None
    world: int | None
    seconds: float | None
    profiled_s: float | None
    time_given: bool
    tokens_per_s: float | None
    samples_per_s: float | None
    mfu: float | None
    hfu: float | None
    lacks: str | None
    sized: bool

    def share(self, flops: float | None) -> float | None:
        """Return the share of the peak that so many FLOPs per token are, if it is a number."""
        if flops is None or self.tokens_per_s is None or not self.peak.flops:
            return None
        share = flops * self.tokens_per_s / self.peak.flops
        return share if math.isfinite(share) else None


def estimate(model: Model, gpu: Mapping[str, Any], measured: Measured) -> Estimate:
    """Put model, peak and step time together."""
    flops = training_flops(model)
    peak = find_peak(measured.devices, model.get("dtype"), given(gpu, "peak_tflops"))
    profiled = measured.period_ns / NS if measured.period_ns else None
    unprofiled = given(model, "step_time_ms")
    seconds = unprofiled / 1e3 if unprofiled else profiled
    world = given(model, "world_size")
    tokens = _tokens(model)
    found = Estimate(
        model=model,
        measured=measured,
        flops=flops,
        peak=peak,
        tokens=tokens,
        world=world,
        seconds=seconds,
        profiled_s=profiled,
        time_given=bool(unprofiled),
        tokens_per_s=_rate(tokens, seconds, world),
        samples_per_s=_rate(_samples(model), seconds, world),
        mfu=None,
        hfu=None,
        lacks=None,
        sized=has_size(model),
    )
    return _with_shares(found)


def _with_shares(found: Estimate) -> Estimate:
    mfu = found.share(found.flops.model)
    if mfu is None:
        return replace(found, lacks=_lacks(found))
    return replace(found, mfu=mfu, hfu=found.share(found.flops.hardware))


def _tokens(model: Model) -> float | None:
    if tokens := given(model, "tokens_per_step"):
        return float(tokens)
    batch, length = given(model, "global_batch"), given(model, "seq_len")
    return float(batch * length) if batch and length else None


def _samples(model: Model) -> float | None:
    if batch := given(model, "global_batch"):
        return float(batch)
    tokens, length = given(model, "tokens_per_step"), given(model, "seq_len")
    return tokens / length if tokens and length else None


def _rate(amount: float | None, seconds: float | None, world: int | None) -> float | None:
    if not amount or not seconds or not world:
        return None
    rate = amount / (seconds * world)
    return rate if math.isfinite(rate) else None


def _lacks(found: Estimate) -> str:
    """Say what keeps MFU from being told; the first of several."""
    size = "[model] says how many tokens there are but not the size of the model: add params"
    time = f"{found.measured.no_steps}, or give step_time_ms"
    peak = f"{found.peak.source}: give [gpu] peak_tflops, dense and for the dtype of the model"
    reasons = (
        (not found.sized, size),
        (found.flops.lacks is not None, f"[model] lacks {found.flops.lacks}"),
        (found.tokens is None, "[model] lacks tokens_per_step, or global_batch and seq_len"),
        (found.world is None, "[model] lacks world_size, the GPUs that share the tokens of a step"),
        (found.seconds is None, time),
        (found.peak.flops is None, peak),
        (True, "the numbers in [model] are beyond any range"),
    )
    return next(reason for holds, reason in reasons if holds)
