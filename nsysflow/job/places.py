"""Collectives matched by their place in the capture, where steps have no numbers.

Captures may begin a step apart, and then every place is one step off, which no clock offset
contradicts. So places are believed where the ends of the matched collectives agree and those of
collectives a step away do not, or where the offsets found stay within half a step of what the
session starts say.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from nsysflow.findings.base import time_text
from nsysflow.job.clocks import Capture, Clocks
from nsysflow.job.instances import Members
from nsysflow.job.lanes import NONE, Ints, Ops
from nsysflow.job.matching import Matching

# What the ends of one collective may differ by, beyond a share of its length.
SLACK_NS, SLACK_SHARE = 20_000, 0.05
# Ends a step away must agree so much worse than those of the match.
WORSE, LEAST_WORSE_NS = 2, 1_000
FEWEST = 3


def misplaced(
    ops: Ops,
    matched: tuple[Matching, Members],
    clocks: Clocks,
    trace: Ints,
    captures: Sequence[Capture],
) -> str | None:
    """Return why matches by place are not believed, None if they are.

    Args:
        ops: the communication ops; steps without numbers.
        matched: which of them were taken for one collective, by their places.
        clocks: the clocks as they fit to that.
        trace: the file of every op.
        captures: one per file.
    """
    found, members = matched
    number = found.group[members.at]
    for group in range(len(found.groups)):
        mine = members.op[number == group]
        by_file = _by_file(found, mine, trace)
        first, *rest = by_file or [NONE]
        for file in rest:
            pair = _pair(ops, by_file[first], by_file[file])
            reason = _doubt(pair, clocks, (first, file), captures)
            if reason:
                return reason
    return None


def _by_file(found: Matching, rows: Ints, trace: Ints) -> dict[int, tuple[Ints, Ints]]:
    """Return the instances of a group and one op of each, by file."""
    rows = rows[np.argsort(trace[rows], kind="stable")]
    files, edges = np.unique(trace[rows], return_index=True)
    held = {}
    for file, mine in zip(files.tolist(), np.split(rows, edges[1:]), strict=True):
        instance, first = np.unique(found.instance[mine], return_index=True)
        held[file] = (instance, mine[first])
    return held


def _pair(ops: Ops, a: tuple[Ints, Ints], b: tuple[Ints, Ints]) -> Ints:
    """Return (one's end, the other's end, the shorter length, step) of what two files share."""
    shared = np.intersect1d(a[0], b[0])
    one, other = (op[np.searchsorted(instance, shared)] for instance, op in (a, b))
    order = np.argsort(ops["end_ns"][one], kind="stable")
    one, other = one[order], other[order]
    length = np.minimum(*(ops["end_ns"][op] - ops["start_ns"][op] for op in (one, other)))
    return np.stack([ops["end_ns"][one], ops["end_ns"][other], length, ops["step"][one]])


def _doubt(
    pair: Ints, clocks: Clocks, files: tuple[int, int], captures: Sequence[Capture]
) -> str | None:
    if pair.shape[1] < FEWEST:
        return None
    one, other, length, step = pair
    off = _spread(one, other)
    name = captures[files[1]].file
    if np.median(off) > SLACK_NS + SLACK_SHARE * float(np.median(length)):
        return (
            f"steps have no numbers, and the collectives of {name} at the same places end "
            f"{time_text(int(np.median(off)))} apart: they may be others"
        )
    away = _step_away(one, other, _per_step(step))
    if away is not None and away > WORSE * float(np.median(off)) + LEAST_WORSE_NS:
        return None
    period = _period(one, _per_step(step))
    shift = abs(_fitted(clocks, files) - _session(captures, files))
    if period is None or 2 * shift <= period:
        return None
    return (
        f"steps have no numbers, collectives a step away fit as well, and those of {name} at the "
        f"same places lie {time_text(shift)} from its session start, more than half a step"
    )


def _spread(one: Ints, other: Ints) -> Ints:
    apart = one - other
    found: Ints = np.abs(apart - int(np.median(apart)))
    return found


def _per_step(step: Ints) -> int:
    """Return how many of the shared collectives a step has; 1 where no steps are known."""
    known = step[step != NONE]
    if not len(known):
        return 1
    count = np.unique(known, return_counts=True)[1]
    return max(1, int(np.median(count))) if len(count) > 1 else 1


def _step_away(one: Ints, other: Ints, places: int) -> float | None:
    """Return how well ends agree that lie a step apart, either way."""
    if len(one) < places + FEWEST:
        return None
    ways = ((one[places:], other[:-places]), (one[:-places], other[places:]))
    return min(float(np.median(_spread(*way))) for way in ways)


def _period(one: Ints, places: int) -> int | None:
    return int(np.median(one[places:] - one[:-places])) if len(one) > places else None


def _fitted(clocks: Clocks, files: tuple[int, int]) -> int:
    return int(clocks.offset[files[1]] - clocks.offset[files[0]])


def _session(captures: Sequence[Capture], files: tuple[int, int]) -> int:
    first, second = (captures[file].utc_ns or 0 for file in files)
    return second - first
