"""MFU in words: rates that stand without it, and what other conventions would say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsysflow.render import units

_ATTENTION = {
    "none": "without attention",
    "causal": "with causal attention",
    "full": "with full attention",
}
FEW = 10


def rate(mfu: Mapping[str, Any]) -> str | None:
    """Return tokens per second and GPU, which need no peak."""
    value = mfu.get("tokens_per_s_per_gpu")
    return None if value is None else f"{_number(value)} tok/s/GPU"


def rates(mfu: Mapping[str, Any]) -> str | None:
    """Return tokens and samples per second and GPU, and the step time behind them."""
    samples, step = mfu.get("samples_per_s_per_gpu"), mfu.get("step_ns")
    parts = [rate(mfu), None if samples is None else f"{_number(samples)} samples/s/GPU"]
    known = [part for part in parts if part]
    if not known:
        return None
    source = ", given" if mfu.get("step_source") == "given" else ""
    return ", ".join(known) + ("" if step is None else f" at {units.duration(step)} a step{source}")


def readings(mfu: Mapping[str, Any]) -> str | None:
    """Return what MFU would be by the other ways of counting attention."""
    rows = [row for row in mfu.get("readings") or () if row["mfu"] is not None]
    other = [row for row in rows if row["flops_per_token"] != mfu["flops_per_token"]]
    found = [f"{units.share(row['mfu'])} {_ATTENTION[row['attention']]}" for row in other]
    return ", ".join(found) or None


def _number(value: float) -> str:
    return units.count(round(value)) if value >= FEW else units.decimal(value)
