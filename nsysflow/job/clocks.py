"""Put the clocks of the files on one time line, and say how well.

Members of a synchronising collective end almost together: alternating medians over ends give each
file its offset. That no member ends before another begins is the proof: a difference-constraint
system that no choice of offsets can meet shows ops matched wrongly or a clock that jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nsysflow.job.fit import fit_offsets, theil_sen
from nsysflow.job.instances import Members
from nsysflow.job.lanes import OP, Flags, Ints, JobLane, Ops

SYNCHRONISING = [
    OP[name] for name in ("all_reduce", "all_gather", "reduce_scatter", "all_to_all", "barrier")
]
# Rows that the fit looks at: more would not make a median better.
MOST_ROWS = 200_000
ENOUGH = 20
DRIFT_SPAN_NS = 10_000_000_000
TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Capture:
    """What a file says of its clock. ``utc_ns``: the time at its zero, None if not recorded."""

    file: str
    utc_ns: int | None
    span_ns: int = 0


@dataclass
class Clocks:
    """Offsets of every file, ``t_job = t + offset (+ slope * (t - middle))``.

    ``part`` numbers the connected groups of files: times of different parts are not compared.
    ``known`` files have a session start, ``tells`` are those whose offset means something.
    ``sigma_ns`` is 1.4826 x the median absolute residual of ends.
    """

    status: str
    method: str
    offset: Ints
    part: Ints
    slope: npt.NDArray[np.float64]
    middle: Ints
    sigma_ns: int | None = None
    p95_ns: int | None = None
    samples: int = 0
    reason: str | None = None
    known: Flags = field(default_factory=lambda: np.empty(0, np.bool_))
    tells: Flags = field(default_factory=lambda: np.empty(0, np.bool_))

    def to_job(self, trace: Ints, time: Ints) -> Ints:
        """Return times of files on the job's time line."""
        drift = self.slope[trace]
        moved: Ints = time + self.offset[trace]
        if drift.any():
            moved = moved + np.rint(drift * (time - self.middle[trace])).astype(np.int64)
        return moved

    def to_file(self, trace: int, time: Ints) -> Ints:
        """Return times of the job's time line on a file's clock."""
        local: Ints = time - self.offset[trace]
        slope = float(self.slope[trace])
        if slope:
            bent = slope / (1 + slope) * (local - self.middle[trace])
            local = local - np.rint(bent).astype(np.int64)
        return local


def align(
    ops: Ops, lanes: Sequence[JobLane], members: Members, captures: Sequence[Capture]
) -> Clocks:
    """Fit the offsets of all files.

    Args:
        ops: the communication ops.
        lanes: the lanes; ``trace`` numbers ``captures``.
        members: matched ops of complete or incomplete instances.
        captures: one per file.
    """
    count = len(captures)
    trace = np.array([lane.trace for lane in lanes], np.int64)
    if count == 1:
        return _one_clock(ops, trace, members)
    start = _session(captures)
    sample = _sample(ops, trace, members)
    row_trace = trace[ops["lane"][sample.op]]
    part = _union(count, sample, row_trace)
    found = _clocks(count, start, part, captures)
    if not len(sample.first):
        _centre(found, lanes)
        return _unfitted(found, captures)
    end, begin = ops["end_ns"][sample.op], ops["start_ns"][sample.op]
    found.offset = fit_offsets(sample, row_trace, end, found.offset)
    _bend(found, sample, row_trace, end, captures)
    sound = _consistent(found, sample, row_trace, (begin, end))
    _centre(found, lanes)
    if not sound:
        found.status, found.sigma_ns = "not_aligned", None
        found.reason = (
            "no clock offsets let every matched collective end after all its members began"
        )
        return found
    _quality(found, sample, row_trace, end)
    return _judged(found, captures, sample)


def _session(captures: Sequence[Capture]) -> Ints:
    """Return the session starts against the first known one; 0 where there is none."""
    known = [c.utc_ns for c in captures if c.utc_ns is not None]
    base = known[0] if known else 0
    return np.array([0 if c.utc_ns is None else c.utc_ns - base for c in captures], np.int64)


def _clocks(count: int, start: Ints, part: Ints, captures: Sequence[Capture]) -> Clocks:
    zeros = np.zeros(count, np.int64)
    known = np.array([c.utc_ns is not None for c in captures])
    return Clocks("aligned", "", start, part, np.zeros(count), zeros, known=known)


def _one_clock(ops: Ops, trace: Ints, members: Members) -> Clocks:
    zero = np.zeros(1, np.int64)
    found = Clocks(
        "same_clock", "one file, one clock", zero, zero, np.zeros(1), zero,
        known=np.array([True]), tells=np.array([True]),
    )  # fmt: skip
    sample = _sample(ops, trace, members)
    if len(sample.first):
        _quality(found, sample, trace[ops["lane"][sample.op]], ops["end_ns"][sample.op])
    return found


def _unfitted(found: Clocks, captures: Sequence[Capture]) -> Clocks:
    missing = [capture.file for capture in captures if capture.utc_ns is None]
    if missing:
        found.status = "not_aligned"
        found.reason = (
            f"{missing[0]} has no session start, and no matched collectives tell its clock"
        )
    else:
        found.status, found.method = "session_start", "start time of each session; error not known"
    return found


def _judged(found: Clocks, captures: Sequence[Capture], sample: Members) -> Clocks:
    missing = [capture.file for capture in captures if capture.utc_ns is None]
    if missing and len(sample.first) < ENOUGH:
        found.status, found.sigma_ns = "not_aligned", None
        found.reason = (
            f"{missing[0]} has no session start, and {len(sample.first)} matched collectives "
            "are too few to tell its clock"
        )
        return found
    drift = ", drift by Theil-Sen" if found.slope.any() else ""
    groups = len(np.unique(found.part))
    apart = f"; {groups} groups of files without a common collective" if groups > 1 else ""
    found.method = (
        f"session start, then alternating medians over the ends of {found.samples:,} matched ops"
        f"{drift}; p95 of the residual {found.p95_ns} ns{apart}"
    )
    return found


def _sample(ops: Ops, trace: Ints, members: Members) -> Members:
    """Keep synchronising instances, spread evenly where there are more than a fit needs."""
    op = ops["op"][members.op]
    firm = np.isin(op, SYNCHRONISING) | (op == OP["generic"])
    every = members.least(firm.astype(np.int64)).astype(bool)
    if not every.any():
        # Sends and receives bind pairs only loosely, but nothing else does.
        every = np.ones(len(members.first), np.bool_)
    else:
        every |= _bridges(members, every, trace[ops["lane"][members.op]])
    chosen = members.take(every)
    if len(chosen.op) > MOST_ROWS:
        stride = -(-len(chosen.op) // MOST_ROWS)
        chosen = chosen.take(np.arange(len(chosen.first)) % stride == 0)
    return chosen


def _bridges(members: Members, firm: npt.NDArray[np.bool_], trace: Ints) -> npt.NDArray[np.bool_]:
    """Return the sends and receives that connect files which nothing firmer connects."""
    count = int(trace.max()) + 1 if len(trace) else 0
    held = members.take(firm)
    part = _union(count, held, trace[firm[members.at]])
    apart: Flags = members.least(part[trace]) != members.most(part[trace])
    return ~firm & apart


def _union(count: int, members: Members, row_trace: Ints) -> Ints:
    """Return the connected group of every file: the lowest file in it."""
    part = np.arange(count)
    if not len(members.first):
        return part
    while True:
        least = members.least(part[row_trace])
        new = part.copy()
        np.minimum.at(new, row_trace, least[members.at])
        new = new[new]
        if (new == part).all():
            return part
        part = new


def _bend(
    found: Clocks, sample: Members, row_trace: Ints, end: Ints, captures: Sequence[Capture]
) -> None:
    """Allow a clock to drift where the capture is long enough to show it."""
    moved = end + found.offset[row_trace]
    short = sample.median(moved)[sample.at] - moved
    for number, capture in enumerate(captures):
        mine = row_trace == number
        if capture.span_ns <= DRIFT_SPAN_NS or mine.sum() < ENOUGH:
            continue
        time, error = end[mine], short[mine]
        slope = theil_sen(time, error)
        middle = int(np.median(time))
        left = error - slope * (time - middle)
        noise = float(np.median(np.abs(left - np.median(left))))
        if abs(slope) * capture.span_ns > 4 * noise:
            found.slope[number], found.middle[number] = slope, middle
            found.offset[number] += round(float(np.median(left)))


def _centre(found: Clocks, lanes: Sequence[JobLane]) -> None:
    """Let the first lane of each connected group, and of the largest, have offset 0."""
    held: dict[int, list[JobLane]] = {}
    for lane in lanes:
        held.setdefault(int(found.part[lane.trace]), []).append(lane)
    largest = max(held.values(), key=len)
    base = int(found.offset[largest[0].trace])
    main = found.part == found.part[largest[0].trace]
    found.tells = main.copy()
    for part, mine in held.items():
        together = found.part == part
        if found.known[together | main].all():
            found.offset[together] -= base
            found.tells |= together
        else:
            found.offset[together] -= int(found.offset[mine[0].trace])


def _consistent(found: Clocks, sample: Members, row_trace: Ints, times: tuple[Ints, Ints]) -> bool:
    """Let every instance begin on all members before it ends on any, if offsets can do that.

    Fitted offsets that fail are moved until they fit. Constraints are relaxed until nothing moves;
    what still moves after one round per file is a negative cycle, and there are none that fit.
    """
    starts, ends = (found.to_job(row_trace, time) for time in times)
    files = len(found.offset)
    shift = np.zeros(files, np.int64)
    for _ in range(files + 1):
        latest = sample.least(ends + shift[row_trace])
        new = shift.copy()
        np.minimum.at(new, row_trace, latest[sample.at] - starts)
        if (new == shift).all():
            found.offset = found.offset + shift
            return True
        shift = new
    return False


def _quality(found: Clocks, sample: Members, row_trace: Ints, end: Ints) -> None:
    moved = found.to_job(row_trace, end)
    off = np.abs(moved - sample.median(moved)[sample.at])
    found.sigma_ns = round(TO_SIGMA * float(np.median(off)))
    found.p95_ns = round(float(np.quantile(off, 0.95)))
    found.samples = len(off)
