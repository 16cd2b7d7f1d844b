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
    "head_dim",
    "ffn",
    "vocab",
    "seq_len",
    "tokens_per_step",
    "global_batch",
    "world_size",
)
_REQUIRED = ("dtype", "attention")
# A model that says no more than this gives tokens per second, and needs neither of those two.
_RATE = frozenset({"seq_len", "tokens_per_step", "global_batch", "world_size", "step_time_ms"})
_CADENCES = ("checkpoint_every", "eval_every")
# Sizes of tensor, pipeline, data, context and expert parallelism.
_LAYOUT = ("tp", "pp", "dp", "cp", "ep")
_FFN_MATRICES = (2, 3)
# Here 0 says something: a dense model, no time but the trace's. Elsewhere it is a slip.
_ZEROS = ("moe_active_params", "step_time_ms")
# Far beyond any model; what is larger is a slip of the pen and would end in infinities.
_MOST = 1e30
# No GPU comes near; FLOP/s where TFLOP/s were asked for would give an MFU of zero.
_MOST_TFLOPS = 1e6


def model_table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return [model] checked, numbers as they are given.

    Raises UsageError for a key or value that is wrong, and where dtype or attention is absent: both
    change MFU by factors, so no default would be honest. Tokens per second need neither, so a table
    that only says how tokens are shared may lack them.
    """
    known: dict[str, Callable[[Any, str], Any]] = {
        **dict.fromkeys(_AMOUNTS, checks.number),
        **dict.fromkeys(_COUNTS, checks.whole),
        "ffn_matrices": _ffn_matrices,
        "dtype": lambda value, place: checks.choice(value, place, DTYPES),
        "attention": lambda value, place: checks.choice(value, place, ATTENTION),
        "recompute": _recompute,
    }
    checks.known_keys(values, known, where)
    found = {key: known[key](value, f"{where} {key}") for key, value in values.items()}
    _check_sizes(found, where)
    for key in _REQUIRED:
        if key not in found and not (found and found.keys() <= _RATE):
            options = DTYPES if key == "dtype" else ATTENTION
            raise UsageError(f"{where} lacks {key}", hint=f"say one of {', '.join(options)}")
    return found


def gpu_table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return [gpu] checked."""
    checks.known_keys(values, ("peak_tflops",), where)
    found = {key: checks.number(value, f"{where} {key}") for key, value in values.items()}
    _check_sizes(found, where)
    if found.get("peak_tflops", 0) > _MOST_TFLOPS:
        raise UsageError(
            f"{where} peak_tflops is {found['peak_tflops']:g}, which no GPU reaches",
            hint="it is in TFLOP/s: 989, not 989e12",
        )
    return found


def job_table(values: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Return [job] checked: cadences in steps, and how many ranks share what."""
    checks.known_keys(values, (*_CADENCES, *_LAYOUT), where)
    return {
        key: checks.whole(value, f"{where} {key}", least=1 if key in _LAYOUT else 0)
        for key, value in values.items()
    }


def _check_sizes(found: Mapping[str, Any], where: str) -> None:
    for key, value in found.items():
        if isinstance(value, int | float) and value > _MOST:
            raise UsageError(f"{where} {key} is {value:g}, which cannot be")
        if value == 0 and key not in _ZEROS:
            raise UsageError(
                f"{where} {key} is 0, which cannot be", hint="leave it out if it is not known"
            )


def _ffn_matrices(value: object, where: str) -> int:
    found = checks.whole(value, where)
    if found not in _FFN_MATRICES:
        raise UsageError(f"{where} is {found}", hint="2, or 3 for a gated block such as SwiGLU")
    return found


def _recompute(value: object, where: str) -> str | dict[str, int]:
    if isinstance(value, dict):
        checks.known_keys(value, ("layers",), where)
        return {"layers": checks.whole(value.get("layers"), f"{where} layers")}
    if isinstance(value, str):
        return checks.choice(value, where, RECOMPUTE)
    raise UsageError(
        f"{where} is {value!r}", hint='say "none", "selective", "full" or {layers = 8}'
    )
