"""Match collectives without communicator ids: equal sequences whose ends agree.

A unit is a stream of a lane. Units with the same sequence of operations per step are candidates;
those whose ops end together are one communicator. A stream is no communicator by itself, so an
instance that does not end with the others stays unmatched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nsysflow.job.lanes import NONE, OP, Flags, Ints, JobLane, Ops
from nsysflow.job.matching import Group, Matching, signature
from nsysflow.job.talks import PAIR

ENOUGH, FEW = 20, 5
SLACK_NS, SLACK_SHARE = 20_000, 0.05
# Sessions of one host begin by one clock, which is read far more exactly than this.
ONE_HOST_NS = 1_000_000


@dataclass(frozen=True)
class _Unit:
    """The ops of one stream of one lane, in order."""

    lane: int
    ops: Ints


def by_stream(
    ops: Ops,
    lanes: Sequence[JobLane],
    anchor: Ints,
    found: Matching,
    utc: Sequence[int | None] = (),
) -> None:
    """Add the instances of ops without a communicator to ``found``.

    ``utc`` is the time at zero of each lane's clock, as far as it is known.
    """
    some = np.flatnonzero((ops["comm"] == NONE) & ~found.alone)
    if not len(some):
        return
    shared = _shared_steps(ops, anchor, some)
    some = some[np.isin(anchor[some], shared)]
    by_lanes: dict[tuple[int, ...], int] = {}
    ends = _Ends(ops, lanes, tuple(utc) or (None,) * len(lanes))
    for units in _candidates(ops, anchor, some):
        for cluster in _clusters(ends, units):
            members = tuple(sorted(unit.lane for unit in cluster))
            if len(members) >= PAIR:
                group = by_lanes.setdefault(members, len(found.groups))
                if group == len(found.groups):
                    found.groups.append(Group(None, members))
                _join(found, ends, cluster, group)


def _shared_steps(ops: Ops, anchor: Ints, some: Ints) -> Ints:
    """Return the steps in which every lane that communicates does."""
    pairs = np.unique(np.stack([anchor[some], ops["lane"][some]]), axis=1)
    present = len(np.unique(pairs[1]))
    steps, count = np.unique(pairs[0], return_counts=True)
    shared: Ints = steps[count == present]
    return shared


def _candidates(ops: Ops, anchor: Ints, some: Ints) -> list[list[_Unit]]:
    """Return the streams with equal sequences, by sequence."""
    order = some[np.lexsort((ops["start_ns"][some], ops["order_ns"][some], ops["stream"][some]))]
    stream = ops["stream"][order]
    edges = np.flatnonzero(np.diff(stream, prepend=NONE - 1, append=NONE - 1))
    sign = signature(ops)
    classes: dict[bytes, list[_Unit]] = {}
    for first, last in zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        mine = order[first:last]
        key = np.stack([anchor[mine], sign[mine]]).tobytes()
        classes.setdefault(key, []).append(_Unit(int(ops["lane"][mine[0]]), mine))
    kept = [units for units in classes.values() if len(units[0].ops) >= FEW]
    return sorted(kept, key=lambda units: (units[0].lane, int(units[0].ops[0])))


def _clusters(ends: _Ends, units: list[_Unit]) -> list[list[_Unit]]:
    """Put each unit with the cluster whose ends agree best with its own, if they agree."""
    clusters: list[list[_Unit]] = []
    for unit in units:
        best: tuple[float, int] | None = None
        for number, cluster in enumerate(clusters):
            if any(other.lane == unit.lane for other in cluster):
                continue
            off, slack = ends.apart(unit, cluster[0])
            if _agree(off, slack) and ends.may_be_one(unit, cluster[0]):
                score = (float(np.median(off)), number)
                best = score if best is None or score < best else best
        if best is None:
            clusters.append([unit])
        else:
            clusters[best[1]].append(unit)
    return clusters


def _agree(off: Ints, slack: Ints) -> bool:
    if len(off) >= ENOUGH:
        return bool(np.median(off - slack) <= 0)
    return bool((off <= slack).all())


@dataclass(frozen=True)
class _Ends:
    """When the ops of units end; ``utc`` of every lane: the time at zero of its clock."""

    ops: Ops
    lanes: Sequence[JobLane]
    utc: tuple[int | None, ...]

    def apart(self, unit: _Unit, other: _Unit) -> tuple[Ints, Ints]:
        """Return how far the ends lie apart once clocks are set, and what is allowed."""
        end, start = self.ops["end_ns"], self.ops["start_ns"]
        apart = end[unit.ops] - end[other.ops]
        if self.lanes[unit.lane].trace != self.lanes[other.lane].trace:
            apart = apart - int(np.median(apart))
        shorter = np.minimum(end[unit.ops] - start[unit.ops], end[other.ops] - start[other.ops])
        return np.abs(apart), SLACK_NS + (SLACK_SHARE * shorter).astype(np.int64)

    def may_be_one(self, unit: _Unit, other: _Unit) -> bool:
        """Whether the clock of one host allows it.

        Stages of a pipeline all send at one pace: set clocks freely, and any two end together.
        """
        one, two = self.lanes[unit.lane], self.lanes[other.lane]
        first, second = self.utc[unit.lane], self.utc[other.lane]
        if one.trace == two.trace or one.host is None or one.host != two.host:
            return True
        if first is None or second is None or not self._sends(unit).all():
            return True
        apart = self.ops["end_ns"][unit.ops] - self.ops["end_ns"][other.ops]
        return abs(int(np.median(apart)) + first - second) <= ONE_HOST_NS

    def _sends(self, unit: _Unit) -> Flags:
        found: Flags = self.ops["op"][unit.ops] == OP["send_recv"]
        return found


def _join(found: Matching, ends: _Ends, cluster: list[_Unit], group: int) -> None:
    """Make an instance of every op of the cluster that ends with the first unit's."""
    fits = []
    for unit in cluster:
        off, slack = ends.apart(unit, cluster[0])
        fits.append(off <= slack)
    used = np.sum(fits, axis=0) >= PAIR
    number = found.count + np.cumsum(used) - 1
    for unit, fit in zip(cluster, fits, strict=True):
        some = fit & used
        found.instance[unit.ops[some]] = number[some]
    found.group = np.append(found.group, np.full(int(used.sum()), group, np.int64))
