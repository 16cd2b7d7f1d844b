"""Rounding of shares, in one place."""

from __future__ import annotations

from collections.abc import Sequence

UNITS = 1_000_000


def frac(part: int, whole: int) -> float | None:
    """Return ``part / whole`` with six decimals, half to even; None if there is no whole."""
    if whole <= 0:
        return None
    quotient, rest = divmod(part * UNITS, whole)
    if 2 * rest > whole or (2 * rest == whole and quotient % 2):
        quotient += 1
    return quotient / UNITS


def fracs(parts: Sequence[int], whole: int | None = None) -> list[float]:
    """Return shares with six decimals that sum to exactly 1 (largest remainder).

    ``whole`` defaults to the sum of ``parts``; an empty whole gives zeros.
    """
    total = sum(parts) if whole is None else whole
    if total <= 0:
        return [0.0] * len(parts)
    floors = [part * UNITS // total for part in parts]
    missing = UNITS - sum(floors) if sum(parts) == total else 0
    by_remainder = sorted(range(len(parts)), key=lambda i: (-(parts[i] * UNITS % total), i))
    for i in by_remainder[:missing]:
        floors[i] += 1
    return [units / UNITS for units in floors]


def mean_ns(total: int, count: int) -> int | None:
    """Return ``total / count`` in whole ns, half to even."""
    if count <= 0:
        return None
    quotient, rest = divmod(total, count)
    return quotient + (1 if 2 * rest > count or (2 * rest == count and quotient % 2) else 0)


def median_ns(values: Sequence[int]) -> int | None:
    """Return the median, the middle two averaged, half to even."""
    ordered = sorted(values)
    if not ordered:
        return None
    middle = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[middle]
    return mean_ns(ordered[middle - 1] + ordered[middle], 2)
