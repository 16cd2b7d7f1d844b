"""Which captures were taken at the same time, on the clocks of their hosts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# Ranks of one job are started within seconds, and hosts agree on the time to well below that.
# A longer pause between captures means that nothing in them can have met.
SLACK_NS = 30_000_000_000
UNKNOWN = -1


def clusters(captures: Sequence[Mapping[str, Any]]) -> list[int]:
    """Return for each capture the number of its cluster in time, UNKNOWN without a UTC start."""
    spans = [span(capture) for capture in captures]
    known = sorted((one, index) for index, one in enumerate(spans) if one is not None)
    numbers = [UNKNOWN] * len(captures)
    number, until = -1, None
    for (start, end), index in known:
        if until is None or start > until + SLACK_NS:
            number, until = number + 1, end
        until = max(until, end)
        numbers[index] = number
    return numbers


def span(capture: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the UTC ns that a capture covers, from its session's start; None if not recorded."""
    start = capture.get("utc_start_ns")
    if not isinstance(start, int):
        return None
    lengths = [capture.get("end_ns"), capture.get("duration_ns"), 0]
    return start, start + max(length for length in lengths if isinstance(length, int))
