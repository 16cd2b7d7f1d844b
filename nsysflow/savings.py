"""All arithmetic of "what would it save": bounds, clamped and rounded in one place.

A bound is what a step would shrink by at most if its whole cause were gone. Bounds of disjoint
buckets may be added; bounds of views (kernel tables) never.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nsysflow.shares import frac, mean_ns, median_ns

# Below 2 % of a step, or within three times the steps' own spread, nothing is worth a card.
LEAST_FRAC = 0.02
LEAST_SPREADS = 3


@dataclass(frozen=True)
class Bound:
    """At most this much: per step, and as a share of the kept steps' time."""

    ns_per_step: int
    frac: float


def bound(total_ns: int, window_ns: int, steps: int) -> Bound:
    """Return the bound of a cause that holds ``total_ns`` of the kept steps' ``window_ns``."""
    inside = max(0, min(total_ns, window_ns))
    return Bound(mean_ns(inside, steps) or 0, frac(inside, window_ns) or 0.0)


def worth_a_card(per_step: Bound, step_ns: Sequence[int]) -> bool:
    """Whether a bound stands out from the steps' own spread (median absolute deviation)."""
    middle = median_ns(step_ns) or 0
    spread = median_ns([abs(length - middle) for length in step_ns]) or 0
    least = max(LEAST_FRAC * middle, LEAST_SPREADS * spread)
    return per_step.ns_per_step > 0 and per_step.ns_per_step >= least
