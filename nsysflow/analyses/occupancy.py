"""How a kernel's blocks fill a GPU: blocks that one multiprocessor holds, waves, the last one."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

# Registers are handed to a warp in pieces of this many.
REGISTER_UNIT = 256
# What the driver keeps of the shared memory of each block.
RESERVED_BYTES = 1024
LIMITS = ("sm_count", "registers_per_sm", "shared_bytes_per_sm", "warps_per_sm", "blocks_per_sm")


@dataclass(frozen=True)
class Fit:
    """How a launch fills the GPU; shares are 0 to 1.

    ``waves``: rounds of blocks, None where blocks do not outnumber what fits at once or the launch
    is sized to the GPU. ``tail_frac``: mean share of the GPU in use over the waves. ``sm_frac``:
    multiprocessors that get a block. ``occupancy_frac``: warps held of those possible, which
    ``limiter`` (registers, shared_memory, warps or blocks) bounds.
    """

    waves: float | None
    tail_frac: float | None
    sm_frac: float
    occupancy_frac: float
    limiter: str


def known(gpu: Mapping[str, Any] | None) -> bool:
    """Whether all limits of a GPU are recorded."""
    return gpu is not None and all(gpu[name] for name in LIMITS)


def fit(shape: Mapping[str, Any], gpu: Mapping[str, Any]) -> Fit | None:
    """Return how a launch shape fills a GPU whose limits are known; None without its shape."""
    grid, threads = shape["grid"], shape["block"]
    if not grid or not threads or not shape["registers"] or shape["shared_bytes"] is None:
        return None
    warp = gpu["warp_threads"] or 32
    warps = -(-threads // warp)
    registers = -(-shape["registers"] * warp // REGISTER_UNIT) * REGISTER_UNIT * warps
    held = {
        "registers": gpu["registers_per_sm"] // registers,
        "shared_memory": gpu["shared_bytes_per_sm"] // (shape["shared_bytes"] + RESERVED_BYTES),
        "warps": gpu["warps_per_sm"] // warps,
        "blocks": gpu["blocks_per_sm"],
    }
    limiter = min(held, key=lambda name: held[name])
    blocks = held[limiter]
    if not blocks:
        return None
    sms = gpu["sm_count"]
    # A grid of whole multiples of the multiprocessors is sized to the GPU: its blocks share work.
    told = grid > sms * blocks and grid % sms
    waves = grid / (sms * blocks) if told else None
    return Fit(
        waves=None if waves is None else round(waves, 6),
        tail_frac=None if waves is None else round(waves / -(-grid // (sms * blocks)), 6),
        sm_frac=round(min(1.0, grid / sms), 6),
        occupancy_frac=round(blocks * warps / gpu["warps_per_sm"], 6),
        limiter=limiter,
    )
