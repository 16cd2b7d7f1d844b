"""The tables about the job itself: [model], [gpu] and [job], for MFU and amortised costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from nsysflow.config import checks
from nsysflow.errors import UsageError

DTYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4")
ATTENTION = ("none", "causal", "full")
RECOMPUTE = ("none", "selective", "full")

_AMOUNTS = ("params", "flops_per_token", "moe_active_params", "step_time_ms")
_COUNTS = (
    "layers",
    "hidden",
    "heads",
    "kv_heads",
    "ffn",
    "vocab",
    "seq_len",
    "tokens_per_step",
    "global_batch",
    "world_size",
)
_REQUIRED = ("dtype", "attention")


def model_table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return [model] checked, numbers as they are given.

    Raises UsageError for a key or value that is wrong, and where dtype or attention is absent: both
    change the result by factors, so no default would be honest.
    """
    known: dict[str, Callable[[Any, str], Any]] = {
        **dict.fromkeys(_AMOUNTS, checks.number),
        **dict.fromkeys(_COUNTS, checks.whole),
        "dtype": lambda value, place: checks.choice(value, place, DTYPES),
        "attention": lambda value, place: checks.choice(value, place, ATTENTION),
        "recompute": _recompute,
    }
    checks.known_keys(values, known, where)
    found = {key: known[key](value, f"{where} {key}") for key, value in values.items()}
    for key in _REQUIRED:
        if key not in found:
            options = DTYPES if key == "dtype" else ATTENTION
            raise UsageError(f"{where} lacks {key}", hint=f"say one of {', '.join(options)}")
    return found


def gpu_table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return [gpu] checked."""
    checks.known_keys(values, ("peak_tflops",), where)
    return {key: checks.number(value, f"{where} {key}") for key, value in values.items()}


def job_table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return [job] checked: cadences in steps."""
    checks.known_keys(values, ("checkpoint_every", "eval_every"), where)
    return {key: checks.whole(value, f"{where} {key}") for key, value in values.items()}


def _recompute(value: object, where: str) -> str | dict[str, int]:
    if isinstance(value, dict):
        checks.known_keys(value, ("layers",), where)
        return {"layers": checks.whole(value.get("layers"), f"{where} layers")}
    if isinstance(value, str):
        return checks.choice(value, where, RECOMPUTE)
    raise UsageError(
        f"{where} is {value!r}", hint='say "none", "selective", "full" or {layers = 8}'
    )
