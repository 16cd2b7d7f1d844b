"""What the lanes say about the run as a whole: conflicts, missing ranks, several jobs in one."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nsysflow.natural import natural_key
from nsysflow.rank.lane import Lane
from nsysflow.rank.times import UNKNOWN

_MOST_NAMED = 4


def conflicts(lanes: Sequence[Lane], owners: Mapping[tuple[str, int], int]) -> list[dict[str, Any]]:
    """Return {rank, labels, sources} of every rank that more than one process claims.

    ``owners``: (trace, lane) -> its process. Several GPUs of one process are no conflict.
    """
    by_rank: dict[int, list[Lane]] = {}
    for lane in lanes:
        if lane.rank is not None:
            by_rank.setdefault(lane.rank, []).append(lane)
    return [
        {
            "rank": rank,
            "labels": [lane.label for lane in claiming],
            "sources": [lane.rank_source for lane in claiming],
        }
        for rank, claiming in sorted(by_rank.items())
        if len({(lane.trace, owners[lane.trace, lane.lane]) for lane in claiming}) > 1
    ]


def several_jobs(
    lanes: Sequence[Lane],
    claimed_twice: Sequence[Mapping[str, Any]],
    worlds: Mapping[str, int],
    clusters: Mapping[str, int],
) -> str | None:
    """Return why the traces cannot be one job, or None.

    ``worlds``: file -> ranks of its job, where known; ``clusters``: file -> cluster in time.
    """
    reasons = []
    if claimed_twice:
        ranks = _some([str(conflict["rank"]) for conflict in claimed_twice])
        labels = {label for conflict in claimed_twice for label in conflict["labels"]}
        files = sorted({lane.file for lane in lanes if lane.label in labels}, key=natural_key)
        reasons.append(f"rank {ranks} is claimed by more than one process ({_some(files)})")
    if len(set(worlds.values())) > 1:
        sizes = ", ".join(str(size) for size in sorted(set(worlds.values())))
        reasons.append(f"the traces name jobs of different sizes ({sizes} ranks)")
    if len(set(clusters.values()) - {UNKNOWN}) > 1:
        first = [
            min((file for file, number in clusters.items() if number == cluster), key=natural_key)
            for cluster in sorted(set(clusters.values()) - {UNKNOWN})
        ]
        reasons.append(f"the captures were not taken at the same time (such as {_some(first)})")
    return "; ".join(reasons) or None


def expected_ranks(sizes: set[int], ranks: set[int], unknown: int) -> int | None:
    """Return the size of the job if the traces agree on one that their lanes fit into."""
    if len(sizes) != 1:
        return None
    (size,) = sizes
    # A launcher may count its own tasks (nodes) where ranks were meant.
    fits = len(ranks) + unknown <= size and max(ranks, default=0) < size
    return size if fits else None


def missing_ranks(
    ranks: set[int], expected: int | None, named: Collection[int | None]
) -> list[int] | None:
    """Return the ranks without a usable lane, None if that cannot be told.

    Without a known size of the job, gaps in the numbers and the names of failed files still tell.
    """
    if expected is not None:
        return sorted(set(range(expected)) - ranks)
    last = max((rank for rank in {*ranks, *named} if rank is not None), default=-1)
    return sorted(set(range(last + 1)) - ranks) or None


def _some(items: Sequence[str]) -> str:
    more = f" and {len(items) - _MOST_NAMED} more" if len(items) > _MOST_NAMED else ""
    return ", ".join(items[:_MOST_NAMED]) + more
