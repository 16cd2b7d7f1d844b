"""What repeats: events that belong together, and the last one of each cycle of events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from nsysflow.shares import median_ns

Ints = npt.NDArray[np.int64]

TOGETHER = 10  # events closer than a tenth of their usual spacing are one
SAME = 0.05  # intervals whose numbers of ops differ by less are alike
SAME_OPS = 1
PAIRS = 3  # fewer repetitions are chance
UNLIKE = 0.25  # neighbours alike more often than this are no cycle: now and then a step evaluates
LIKELY = 0.9  # share of a sequence that must repeat
NEARLY = 0.005  # how much worse than the best a shorter period may be
PERIODS = 4  # full periods that make a sequence periodic
RARE_NAMES = 64
REPEATS = 8
MOST_POSITIONS = 4_000_000


@dataclass(frozen=True)
class Event:
    """A stretch of time that may end a step: an annotation, or a cluster of kernels."""

    start_ns: int
    end_ns: int
    name: str = ""


def outermost(events: Sequence[Event]) -> list[Event]:
    """Return the events that lie in no other, in order."""
    found: list[Event] = []
    for event in sorted(events, key=lambda e: (e.start_ns, -e.end_ns, e.name)):
        if not found or event.end_ns > found[-1].end_ns:
            found.append(event)
    return found


def together(events: Sequence[Event]) -> list[Event]:
    """Join neighbours that lie much closer than is usual: several optimizers of one step."""
    joined = list(events)
    while joined:
        spacing = _spacing(joined)
        closer = [joined[0]]
        for event in joined[1:]:
            last = closer[-1]
            if TOGETHER * (event.start_ns - last.end_ns) < spacing:
                closer[-1] = Event(last.start_ns, max(last.end_ns, event.end_ns), event.name)
            else:
                closer.append(event)
        if len(closer) in {1, len(joined)}:
            break
        joined = closer
    return joined


def _spacing(events: Sequence[Event]) -> int:
    """Return how far apart events usually are; neither one pause nor many neighbours decide."""
    gaps = sorted(b.end_ns - a.end_ns for a, b in pairwise(events))
    mean = sum(gaps[:-1]) // max(1, len(gaps) - 1)
    return max(mean, median_ns(gaps) or 0)


def last_of_cycle(
    events: Sequence[Event], ops: Sequence[int], pauses: Sequence[int], *, by_name: bool = True
) -> list[Event]:
    """Return the event that ends each cycle.

    ``ops[i]`` is the work since event ``i - 1``; ``pauses[i]`` the time until more work follows.

    Two models trained in turn call two optimizers a step, and so does one that is trained twice.
    The work between two calls then alternates, and only every other call ends a step. The one
    before the longest pause is the last of its cycle.
    """
    cycle = cycle_length([event.name if by_name else "" for event in events], ops)
    if cycle == 1:
        return list(events)
    usual = [median_ns(pauses[place:-1:cycle]) or 0 for place in range(cycle)]
    last = max(range(cycle), key=lambda place: (usual[place], place))
    return [event for i, event in enumerate(events) if i % cycle == last]


def cycle_length(names: Sequence[str], ops: Sequence[int]) -> int:
    """Return after how many events names and work repeat; 1 where nothing tells."""
    count = len(names)
    longest = min(count // 2, RARE_NAMES)
    named = [q for q in range(1, longest + 1) if all(map(str.__eq__, names, names[q:]))]
    if not named:
        return 1
    if named[0] > 1 or _share_alike(ops, 1) > UNLIKE:
        return named[0]
    alike = {
        q: _share_alike(ops, q) for q in range(2, longest + 1) if len(ops) - 1 - q >= max(PAIRS, q)
    }
    best = max(alike.values(), default=0.0)
    if best < LIKELY:
        return 1
    return min(q for q, share in alike.items() if share >= max(LIKELY, best - NEARLY))


def _share_alike(ops: Sequence[int], distance: int) -> float:
    pairs = list(zip(ops[1:], ops[1 + distance :], strict=False))
    return sum(_alike(a, b) for a, b in pairs) / len(pairs) if pairs else 1.0


def _alike(one: int, other: int) -> bool:
    return abs(one - other) <= max(SAME_OPS, SAME * max(one, other))


def period(tokens: Ints) -> int | None:
    """Return the smallest distance at which a sequence repeats itself, None if it does not.

    Distances between occurrences of one token are the candidates, rare tokens first: what happens
    once per period tells its length.
    """
    most = len(tokens) // PERIODS
    best: dict[int, float] = {}
    for distance in sorted(_distances(tokens)):
        if distance <= most:
            best[distance] = float(np.mean(tokens[distance:] == tokens[:-distance]))
    top = max(best.values(), default=0.0)
    if top < LIKELY:
        return None
    return min(p for p, share in best.items() if share >= max(LIKELY, top - NEARLY))


def _distances(tokens: Ints) -> set[int]:
    _, token, counts = np.unique(tokens, return_inverse=True, return_counts=True)
    order = np.argsort(token, kind="stable")
    first = np.concatenate([[0], np.cumsum(counts)])
    found: set[int] = set()
    seen = 0
    rare = [name for name in np.argsort(counts, kind="stable") if counts[name] >= PERIODS]
    for name in rare[:RARE_NAMES]:
        places = order[first[name] : first[name + 1]]
        seen += len(places)
        if seen > MOST_POSITIONS and found:
            break
        for step in range(1, min(REPEATS, len(places) - 1) + 1):
            gaps, times = np.unique(places[step:] - places[:-step], return_counts=True)
            found.add(int(gaps[np.argmax(times)]))
    return found
