"""Checks of the inputs before any number is believed: each an id, a verdict and a sentence."""

from __future__ import annotations

from collections.abc import Callable

from nsysflow.mfu import check_hardware, check_inputs, check_time
from nsysflow.mfu.estimate import Estimate
from nsysflow.mfu.verdict import Findings

# The gravest first: pages show the first that fails as their first sentence.
CHECKS: dict[str, Callable[[Estimate], Findings]] = {
    "plausible": check_time.plausible,
    "tensor_time": check_time.tensor_time,
    "peak": check_hardware.peak,
    "device": check_hardware.device,
    "dtype": check_hardware.dtype,
    "tokens": check_inputs.tokens,
    "world_size": check_hardware.world_size,
    "params": check_inputs.params,
    "attention": check_inputs.attention,
    "recompute": check_inputs.recompute,
    "step_time": check_time.step_time,
    "steps": check_time.steps,
}


def checks(found: Estimate) -> list[dict[str, str]]:
    """Return what every check that could be made found; one that has no inputs says nothing."""
    return [
        {"id": name, "verdict": verdict, "text": text}
        for name, check in CHECKS.items()
        for verdict, text in check(found)
    ]
