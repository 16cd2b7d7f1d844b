"""Put the clocks of the files on one time line, and say how well.

Members of a synchronising collective end almost together: alternating medians over ends give each
file its offset. That no member ends before another begins is the proof: a difference-constraint
system that no choice of offsets can meet shows ops matched wrongly or a clock that jumps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
BENDS = 3
TO_SIGMA = 1.4826


@dataclass(frozen=True)
class Capture:
    """What a file says of its clock and of the node's network adapters, by what links them.

    ``utc_ns``: the time at its zero, None if not recorded.
    """

    file: str
    utc_ns: int | None
    span_ns: int = 0
    nics: tuple[str, ...] = ()


@dataclass
class Clocks:
    """Offsets of every file, ``t_job = t + offset (+ slope * (t - middle))``.

    ``part`` numbers the connected groups of files: times of different parts are not compared.
    ``sigma_ns`` is 1.4826 x the median absolute residual of ends, of the file where it is largest.
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

    def bend(self, number: int, slope: float, middle: int, offset: int) -> None:
        """Let a file's clock drift by ``slope`` more, and be off by ``offset`` more at ``middle``.

        ``middle`` is on the file's clock.
        """
        away = float(self.slope[number]) * (middle - int(self.middle[number]))
        self.offset[number] += round(away) + offset
        self.slope[number] += slope
        self.middle[number] = middle

    def follow(self, base: int) -> None:
        """Let one file's clock be the job's time line: no offset, no drift of its own."""
        drift, middle, offset = (
            float(self.slope[base]), int(self.middle[base]), int(self.offset[base])
        )  # fmt: skip
        self.offset = self.offset - offset
        if drift:
            # Two straight lines, one after the other. The base goes through its own middle.
            away = drift / (1 + drift) * (self.middle + self.offset - middle)
            near = self.part == self.part[base]
            self.offset = self.offset - np.where(near, np.rint(away), 0).astype(np.int64)
            self.slope = np.where(near, (1 + self.slope) / (1 + drift) - 1, self.slope)
            self.slope[base] = 0.0

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
        lanes: their ``trace`` numbers ``captures``.
        members: matched ops of complete or incomplete instances.
        captures: one per file.
    """
    count = len(captures)
    trace = np.array([lane.trace for lane in lanes], np.int64)
    if count == 1:
        return _one_clock(ops, trace, members)
    start = _session(captures)
    if start is None:
        return _not_compared(captures)
    sample = _sample(ops, trace, members)
    row_trace = trace[ops["lane"][sample.op]]
    part = _union(count, sample, row_trace)
    found = _clocks(count, start, part)
    if not len(sample.first):
        _centre(found, lanes)
        found.status, found.method = "session_start", "start time of each session; error not known"
        return found
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
    found.method = _method(found, captures)
    return found


def _session(captures: Sequence[Capture]) -> Ints | None:
    """Return the session starts against the first one; None if one of them is not known."""
    known = [capture.utc_ns for capture in captures if capture.utc_ns is not None]
    if len(known) < len(captures):
        return None
    return np.array([start - known[0] for start in known], np.int64)


def _not_compared(captures: Sequence[Capture]) -> Clocks:
    """Without a session start in every file no times of different files are compared."""
    lacking = [capture.file for capture in captures if capture.utc_ns is None]
    more = f" (and {len(lacking) - 1} more files)" if len(lacking) > 1 else ""
    count = len(captures)
    zeros = np.zeros(count, np.int64)
    reason = (
        f"{lacking[0]}{more} has no session start (TARGET_INFO_SESSION_START_TIME): times of "
        "different files are not compared"
    )
    return Clocks("not_aligned", "", zeros, np.arange(count), np.zeros(count), zeros, reason=reason)


def _clocks(count: int, start: Ints, part: Ints) -> Clocks:
    return Clocks("aligned", "", start, part, np.zeros(count), np.zeros(count, np.int64))


def _one_clock(ops: Ops, trace: Ints, members: Members) -> Clocks:
    zero = np.zeros(1, np.int64)
    found = Clocks("same_clock", "one file, one clock", zero, zero, np.zeros(1), zero)
    sample = _sample(ops, trace, members)
    if len(sample.first):
        _quality(found, sample, trace[ops["lane"][sample.op]], ops["end_ns"][sample.op])
    return found


def _method(found: Clocks, captures: Sequence[Capture]) -> str:
    drift = ""
    if found.slope.any():
        drift = ", drift by Theil-Sen"
    elif any(capture.span_ns > DRIFT_SPAN_NS for capture in captures):
        drift = ", no drift above the residual"
    groups = len(np.unique(found.part))
    apart = f"; {groups} groups of files without a common collective" if groups > 1 else ""
    return (
        f"session start, then alternating medians over the ends of {found.samples:,} matched ops"
        f"{drift}; p95 of the residual {found.p95_ns} ns{apart}"
    )


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
    """Allow a clock to drift where the capture is long enough to show it.

    The middle of an instance's ends drifts with its members, so what is left is fitted again.
    """
    for _ in range(BENDS):
        moved = found.to_job(row_trace, end)
        short = sample.median(moved)[sample.at] - moved
        bent = False
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
                bent |= abs(slope) * capture.span_ns >= 1
                found.bend(number, slope, middle, round(float(np.median(left))))
        if not bent:
            break


def _centre(found: Clocks, lanes: Sequence[JobLane]) -> None:
    """Let the clock of the first lane in the largest connected group be the job's time line."""
    held: dict[int, list[JobLane]] = {}
    for lane in lanes:
        held.setdefault(int(found.part[lane.trace]), []).append(lane)
    largest = max(held.values(), key=len)
    found.follow(largest[0].trace)


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
    """Tell how far ends lie apart in the worst file: good clocks would hide one that drifts."""
    moved = found.to_job(row_trace, end)
    off = np.abs(moved - sample.median(moved)[sample.at])
    order = np.argsort(row_trace, kind="stable")
    files = np.split(off[order], np.flatnonzero(np.diff(row_trace[order])) + 1)
    found.sigma_ns = round(TO_SIGMA * max(float(np.median(mine)) for mine in files))
    found.p95_ns = round(float(np.quantile(off, 0.95)))
    found.samples = len(off)
