"""The words of a check."""

from __future__ import annotations

from collections.abc import Iterator

OK = "ok"
SUSPICIOUS = "suspicious"
WRONG = "wrong"
UNKNOWN = "unknown"

# A verdict and the sentence that says what was looked at.
Finding = tuple[str, str]
Findings = Iterator[Finding]


def percent(share: float, sign: str = "") -> str:
    """Return a share in per cent, with ``+`` as ``sign`` always with its sign."""
    return f"{100 * share:{sign}.1f} %"
