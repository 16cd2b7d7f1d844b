"""Why the GPU of the schedule was idle, from what its host was doing: the planted causes."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from nsysflow.demo.intervals import Pieces

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from nsysflow.demo.record import Times

    Spans = Mapping[str, Sequence[tuple[int, int]]]

SHADOW_NS = 5_000  # a sync that ended so little before the gap has drained the queue
ISSUING_NS = 500_000  # launches so close together mean that the host was issuing all the time
QUEUED_NS = 10_000
# What the host was doing, in the order in which it explains an instant.
DOING = (
    ("checkpoint", "checkpoint"),
    ("eval", "eval"),
    ("jit_or_load", "jit_or_load"),
    ("cuda_malloc_free", "cuda_malloc_free"),
    ("sync", "host_sync"),
    ("data_loading", "data_loading"),
)


@dataclass(frozen=True)
class Gaps:
    """Idle gaps [open, close) and the launch call of the work that ends each.

    ``before`` is the end of the latest launch call before that one.
    """

    opened: Times
    closed: Times
    launch_start: Times
    launch_end: Times
    before: Times


def causes(gaps: Gaps, doing: Spans) -> dict[str, int]:
    """Return idle ns by cause; they sum to the length of the gaps."""
    found: Counter[str] = Counter()
    requested = np.clip(np.maximum(gaps.launch_start, gaps.opened), None, gaps.closed)
    queued_from = np.where(
        gaps.launch_start >= gaps.opened,
        gaps.closed,
        np.clip(gaps.launch_end, gaps.opened, gaps.closed),
    )
    late_end = np.where(gaps.launch_start >= gaps.opened, requested, gaps.opened)
    found["launch_latency"] = int((queued_from - late_end).sum())
    queued = gaps.closed - queued_from
    found["micro_gap"] = int(queued[queued < QUEUED_NS].sum())
    found["queued_unexplained"] = int(queued[queued >= QUEUED_NS].sum())
    found.update(_host_late(gaps, late_end, doing))
    return {cause: ns for cause, ns in sorted(found.items()) if ns}


def _host_late(gaps: Gaps, late_end: Times, doing: Spans) -> Counter[str]:
    found: Counter[str] = Counter()
    numbers = np.flatnonzero(late_end > gaps.opened)
    pieces = Pieces(gaps.opened[numbers], late_end[numbers], numbers)
    left_of_sync = {span: span[1] - span[0] for span in doing.get("sync", ())}
    for label, cause in DOING:
        for span in doing.get(label, ()):
            taken = pieces.take(*span)
            found[cause] += taken
            if label == "sync":
                left_of_sync[span] -= taken
    for span, allowed in left_of_sync.items():
        found["host_sync"] += _shadow(gaps, pieces, span, allowed, doing)
    issuing = gaps.launch_start - gaps.before <= ISSUING_NS
    left = pieces.per_gap(len(gaps.opened))
    found["launch_bound"] += int(left[issuing].sum())
    mine = ~issuing[pieces.gap]
    rest = Pieces(pieces.start[mine], pieces.end[mine], pieces.gap[mine])
    for span in doing.get("host_other_nvtx", ()):
        found["host_other_nvtx"] += rest.take(*span)
    found["idle_unattributed"] += int((rest.end - rest.start).sum())
    return found


def _shadow(gaps: Gaps, pieces: Pieces, sync: tuple[int, int], allowed: int, doing: Spans) -> int:
    """Take what a sync that drained the queue explains after it: no more than it lasted."""
    opened = gaps.opened
    behind = np.flatnonzero((sync[0] <= opened) & (opened <= sync[1] + SHADOW_NS))
    own = [span for span in doing.get("host_other_nvtx", ()) if span[0] > sync[1]]
    taken = 0
    for number in behind:
        for low, high in pieces.of_gap(int(number)):
            for start, end in _outside(low, high, own):
                part = min(end - start, allowed - taken)
                taken += pieces.take(start, start + part)
    return taken


def _outside(low: int, high: int, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    parts = [(low, high)]
    for start, end in spans:
        parts = [
            (a, b) for x, y in parts for a, b in ((x, min(y, start)), (max(x, end), y)) if b > a
        ]
    return parts
