"""Steps from the device: optimizer kernels, gradient collectives, a repeating sequence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from nsysflow.analyse.steps_cycle import (
    LIKELY,
    PERIODS,
    Event,
    Ints,
    last_of_cycle,
    period,
    together,
)
from nsysflow.analyse.workspace import Workspace
from nsysflow.shares import median_ns

Flags = npt.NDArray[np.bool_]

# A period is looked for in the first part of a long capture; its marks are found in all of it.
MOST_TOKENS = 2_000_000
LEAST_KERNELS = 50
LEAST_NAMES = 5
LEAST_UNIT = 10  # shorter repetitions are not worth a word
REPEATING_CONFIDENCE = 0.4


@dataclass(frozen=True)
class Kernels:
    """The primary stream's kernels in order: launch, device times, places in the table of names."""

    at: Ints
    start: Ints
    end: Ints
    code: npt.NDArray[np.int32]
    optimizer: Flags
    updates: Flags
    backward: Flags
    passes: Flags

    def before(self, at: Ints) -> Ints:
        """Return how many kernels were launched before each time."""
        return np.searchsorted(self.at, at, side="left").astype(np.int64)

    def next_end(self, at: Ints) -> Ints:
        """Return when the device was busy with what the host launched next, at times of the host.

        The host runs ahead: what it does after it launched a step's last kernel is seen on the
        device only once the next one is waited for.
        """
        place = self.before(at)
        return np.where(place < len(self.end), np.append(self.end, 0)[place] - 1, at)


@dataclass(frozen=True)
class Marks:
    """Device instants that end steps, and what must be said of them.

    ``most`` caps the confidence.
    """

    source: str
    ends: tuple[int, ...]
    note: str | None = None
    most: float = 1.0


def read_kernels(work: Workspace, primary: tuple[int | None, int | None]) -> Kernels:
    """Stream the primary stream's kernels once."""
    names = work.arrow("step_name")
    ids = names["name_id"].to_numpy()
    context, stream = primary
    at, start, end, code = [], [], [], []
    for batch in work.batches("step_kernel", context=context, stream=stream):
        at.append(batch["at_ns"].to_numpy())
        start.append(batch["start_ns"].to_numpy())
        end.append(batch["end_ns"].to_numpy())
        code.append(np.searchsorted(ids, batch["name_id"].to_numpy()).astype(np.int32))
    # Two threads may launch on one stream: what runs later was not launched before.
    launched = np.maximum.accumulate(_joined(at))
    flags = [
        names[name].to_numpy(zero_copy_only=False).astype(bool)
        for name in ("optimizer", "updates", "backward", "passes")
    ]
    codes = np.concatenate([np.empty(0, np.int32), *code])
    return Kernels(launched, _joined(start), _joined(end), codes, *flags)


def _joined(parts: Sequence[Ints]) -> Ints:
    return np.concatenate([np.empty(0, np.int64), *parts])


def optimizer_marks(kernels: Kernels) -> Marks | None:
    """Return the ends of optimizer clusters; None in a lane without backward: it trains nothing."""
    if not kernels.backward[kernels.code].any():
        return None
    ends = _cluster_ends(kernels, kernels.updates)
    return Marks("optimizer_kernels", tuple(ends)) if len(ends) > 1 else None


def _cluster_ends(kernels: Kernels, counting: Flags) -> list[int]:
    """Return the last cluster of each cycle; one counts if it holds a kernel of ``counting``."""
    place, clusters = _clusters(kernels, counting)
    events = together(clusters)
    if not events:
        return []
    # Clusters that were joined end with the last of them.
    at = {cluster.end_ns: k for cluster, k in zip(clusters, place, strict=True)}
    last = np.array([at[event.end_ns] for event in events], np.int64)
    following = np.append(kernels.start, kernels.end[-1:])[last + 1]
    pauses = (following - [event.end_ns for event in events]).tolist()
    ops = np.diff(last, prepend=0).tolist()
    return [e.end_ns for e in last_of_cycle(events, ops, pauses, by_name=False)]


def _clusters(kernels: Kernels, counting: Flags) -> tuple[list[int], list[Event]]:
    """Return the clusters and the place of the last kernel of each.

    A cluster is a run of optimizer kernels that no kernel of a pass interrupts. Between clusters
    of different steps lie both a forward and a backward pass: with less, they are one.
    """
    place = np.flatnonzero(kernels.optimizer[kernels.code])
    if not len(place):
        return [], []
    forward = kernels.passes & ~kernels.backward
    ahead = np.cumsum(forward[kernels.code], dtype=np.int32)[place]
    back = np.cumsum(kernels.backward[kernels.code], dtype=np.int32)[place]
    first = np.flatnonzero(np.diff(ahead + back, prepend=-1))
    counts = np.add.reduceat(counting[kernels.code[place]].astype(np.int32), first) > 0
    until = np.maximum.reduceat(kernels.end[place], first)
    last = place[np.append(first[1:], len(place)) - 1]
    places: list[int] = []
    events: list[Event] = []
    before = -1
    for k in np.flatnonzero(counts).tolist():
        start = int(kernels.start[place[first[k]]])
        same = before >= 0 and (
            ahead[first[k]] == ahead[first[before]] or back[first[k]] == back[first[before]]
        )
        if same:
            start, _ = events.pop().start_ns, places.pop()
        events.append(Event(start, int(until[k])))
        places.append(int(last[k]))
        before = k
    return places, events


def collective_marks(work: Workspace, process: int, kernels: Kernels) -> Marks | None:
    """Return the ends of the last gradient collective of each cycle, by communicator.

    After the last one no backward kernel is launched before the next step's: of several
    communicators the one that is furthest from its next backward kernel carries gradients.
    """
    backward = np.flatnonzero(kernels.backward[kernels.code])
    best: tuple[int, int, tuple[int, ...]] | None = None
    for at, end in _channels(work, process):
        seen = kernels.before(at)
        cycle = period(np.diff(seen))
        if cycle is None:
            continue
        length = int(np.median(seen[cycle:] - seen[:-cycle]))
        if not _is_step(kernels, seen[::cycle], length):
            continue
        following = np.append(backward, len(kernels.code))[np.searchsorted(backward, seen)]
        away = [median_ns((following - seen)[r::cycle].tolist()) or 0 for r in range(cycle)]
        last = max(range(cycle), key=lambda r: (away[r], r))
        ends = tuple(sorted(end[last::cycle].tolist()))
        if len(ends) > 1 and (best is None or (length, away[last], ends) > best):
            best = (length, away[last], ends)
    return Marks("collectives", best[2]) if best else None


def _channels(work: Workspace, process: int) -> list[tuple[Ints, Ints]]:
    table = work.arrow("step_collective", process=process)
    channel = np.array(table["channel"].to_pylist(), dtype=object)
    at, end = table["at_ns"].to_numpy(), table["end_ns"].to_numpy()
    return [(at[channel == name], end[channel == name]) for name in sorted(set(channel.tolist()))]


def _is_step(kernels: Kernels, edges: Ints, length: int) -> bool:
    """Tell a step from a layer: long and varied enough, a backward pass in each, one name once."""
    if length < LEAST_KERNELS or len(edges) < PERIODS:
        return False
    total = np.concatenate([[0], np.cumsum(kernels.backward[kernels.code])])
    if np.mean(np.diff(total[edges]) > 0) < LIKELY:
        return False
    return _varied(kernels.code[edges[0] : edges[0] + MOST_TOKENS], length)


def _varied(code: npt.NDArray[np.int32], length: int) -> bool:
    """Whether a period holds enough names, one of them exactly once."""
    if len(set(code[:length].tolist())) < LEAST_NAMES:
        return False
    names, counts = np.unique(code, return_counts=True)
    periods = len(code) / length
    once = names[np.abs(counts - periods) <= max(1, periods * (1 - LIKELY))]
    return any(_every(np.flatnonzero(code == name), length) for name in once.tolist())


def _every(places: Sequence[int] | Ints, length: int) -> bool:
    """Whether places lie one ``length`` apart, but for a tenth of them and by a tenth of it."""
    apart = np.diff(places)
    if len(apart) < PERIODS - 1:
        return False
    return bool(np.mean(np.abs(apart - length) <= (1 - LIKELY) * length) >= LIKELY)


def sequence_marks(work: Workspace, process: int, kernels: Kernels) -> Marks | str | None:
    """Return ends of periods of the kernel sequence, or a sentence why its period is no step."""
    code = kernels.code[:MOST_TOKENS]
    length = period(code.astype(np.int64))
    if length is None:
        return None
    unit = f"a repeating unit of {length} kernels, not a step"
    refused = unit if length >= LEAST_UNIT else None
    if length < LEAST_KERNELS or not _varied(code, length):
        return refused
    ends = _cluster_ends(kernels, kernels.optimizer)
    places = np.searchsorted(kernels.end, np.array(ends, np.int64), side="right")
    if _every(places, length):
        return Marks("sequence", tuple(ends))
    readback = work.arrow("step_readback", process=process)
    copies = (readback["at_ns"].to_numpy(), readback["end_ns"].to_numpy())
    for at, end in (*_channels(work, process), copies):
        if _every(kernels.before(at), length):
            return Marks("sequence", tuple(sorted(end.tolist())), unit, REPEATING_CONFIDENCE)
    return refused
