"""Who may claim an idle instant: evidence on the launching thread first, in a binding order.

Each instant of a gap in which the host is late is claimed once, by the first cause whose evidence
covers it. What nothing covers stays ``idle_unattributed``.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nsysflow.analyse.facts import Facts
from nsysflow.analyse.intervals import Ints, Spans, flatten, layers, merge, minus, nothing, overlaps
from nsysflow.analyse.workspace import Workspace
from nsysflow.model import HOST_CAUSES

PLACE = {cause: place for place, cause in enumerate(HOST_CAUSES)}
# Causes up to this one break a thread's silence; those after it may be outdone by a helper.
LAST_LOUD = PLACE["comm_host"]
QUIET = ("gil_wait", "cpu_contention", "logging")
# A call that ended this little before the gap still explains it.
SHADOW_NS = 5_000
# Between two launches a host that is still issuing leaves no more than this.
ISSUING_NS = 500_000
NO_EVIDENCE = -1


def _issuing(work: Workspace, launch: Ints) -> npt.NDArray[np.bool_]:
    """Return whether the lane's launch before each, by any thread, had only just ended."""
    calls = work.arrow("launch_call")
    start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
    order = np.argsort(start, kind="stable")
    start, ended = start[order], np.maximum.accumulate(end[order])
    before = np.searchsorted(start, launch, side="left") - 1
    near = before >= 0
    near[near] = launch[near] - ended[before[near]] <= ISSUING_NS
    return near


@dataclass
class Evidence:
    """Activity of launching threads; ``call`` is the blocking call behind a row, or -1."""

    thread: Ints
    place: Ints
    start: Ints
    end: Ints
    call: Ints

    def of(self, threads: list[int], place: int) -> Spans:
        """Return what these threads did under one cause, without overlaps, by evidence number."""
        some = np.flatnonzero((self.place == place) & np.isin(self.thread, threads))
        return flatten(self.start[some], self.end[some], some)


@dataclass
class Claims:
    """Stretches of gaps (``row`` of the late gaps) with their cause and evidence."""

    row: list[Ints] = field(default_factory=list)
    start: list[Ints] = field(default_factory=list)
    end: list[Ints] = field(default_factory=list)
    place: list[Ints] = field(default_factory=list)
    evidence: list[Ints] = field(default_factory=list)
    shadow: list[npt.NDArray[np.bool_]] = field(default_factory=list)

    def add(self, spans: Spans, place: Ints, evidence: Ints, *, shadow: bool = False) -> None:
        """Book disjoint stretches."""
        self.row.append(spans.of)
        self.start.append(spans.start)
        self.end.append(spans.end)
        self.place.append(place)
        self.evidence.append(evidence)
        self.shadow.append(np.full(len(spans), shadow))


def attribute(work: Workspace, facts: Facts) -> Evidence:
    """Make ``host_claim`` and return the evidence behind it."""
    claiming = Attribution(work, facts)
    claiming.run()
    return claiming.evidence


class Attribution:
    """The host-late parts of a lane's gaps, claimed cause by cause."""

    def __init__(self, work: Workspace, facts: Facts) -> None:
        """Read the gaps and the evidence."""
        self._work = work
        self._shift = facts.shift
        self._step_ranges: dict[str, Any] = {
            "source": facts.steps.source,
            "series": facts.steps.pattern,
        }
        late = work.arrow("late_gap")
        column = {name: late[name].to_numpy(zero_copy_only=False) for name in late.column_names}
        self._gap, self._thread = column["gap"], column["thread"]
        self._step = column["step"]
        self._start, self._host_until = column["start_ns"], column["host_until_ns"]
        self._launch_until, self._idle_start = column["launch_until_ns"], column["idle_start_ns"]
        self._long, self._first = column["long_call"], column["first_launch"]
        self._bound = column["launch_recorded"] & _issuing(work, column["launch_start_ns"])
        self._launchers = work.kept("launching_thread")["thread"].to_pylist()
        self.evidence = self._read_evidence()
        self._claims = Claims()
        self._own_ranges: dict[int, Spans] = {}
        # A casting is one call's shadow over one gap: the gap's row, and the evidence behind it.
        self._cast_row, self._caster = np.empty(0, np.int64), np.empty(0, np.int64)

    def run(self) -> None:
        """Claim every host-late instant, then the launch calls that hold more than a launch."""
        rows = np.arange(len(self._gap))
        left = Spans(self._start, self._host_until, rows)
        left = left.take(left.length > 0)
        left = self._loud(left)
        left = self._helpers(left)
        left = self._quiet(left)
        left = self._shadows(left)
        left = self._launch_bound(left)
        left = self._user_ranges(left)
        self._book(left, PLACE["idle_unattributed"])
        self._launch_calls(rows)
        self._keep()

    def _read_evidence(self) -> Evidence:
        table = self._work.kept("evidence")
        causes = table["cause"].to_pylist()
        place = np.array([PLACE[cause] for cause in causes], np.int64)
        columns = [table[name].to_numpy(zero_copy_only=False) for name in ("start_ns", "end_ns")]
        call = table["call"].fill_null(-1).to_numpy(zero_copy_only=False)
        thread = table["thread"].to_numpy(zero_copy_only=False)
        return Evidence(thread, place, columns[0], columns[1], call)

    def _by_thread(self, left: Spans) -> list[tuple[int, Spans]]:
        thread = self._thread[left.of]
        return [(int(t), left.take(thread == t)) for t in np.unique(thread)]

    def _others(self, thread: int) -> list[int]:
        return [each for each in self._launchers if each != thread]

    def _claim(self, left: Spans, evidence: Spans) -> Spans:
        """Book where ``evidence`` covers ``left``; return the rest."""
        _, found, shared = overlaps(left, evidence)
        rows = evidence.of[found]
        self._claims.add(shared, self.evidence.place[rows], rows)
        return minus(left, evidence) if len(shared) else left

    def _loud(self, left: Spans) -> Spans:
        rest = [nothing()]
        for thread, mine in self._by_thread(left):
            own = layers([self.evidence.of([thread], place) for place in range(LAST_LOUD + 1)])
            rest.append(self._claim(mine, own))
        return merge(*rest)

    def _helpers(self, left: Spans) -> Spans:
        """Where the launching thread is silent, another launching thread may speak."""
        rest = [nothing()]
        for thread, mine in self._by_thread(left):
            others = self._others(thread)
            spoken = layers(
                [self.evidence.of([o], p) for p in range(LAST_LOUD + 1) for o in others]
            )
            quiet = self._silent(thread, overlaps(mine, spoken)[2])
            self._claim(quiet, spoken)
            rest.append(minus(mine, quiet))
        return merge(*rest)

    def _quiet(self, left: Spans) -> Spans:
        for cause in QUIET:
            place = PLACE[cause]
            if not (self.evidence.place == place).any():
                continue
            rest = [nothing()]
            for thread, mine in self._by_thread(left):
                unclaimed = self._claim(mine, self.evidence.of([thread], place))
                spoken = self.evidence.of(self._others(thread), place)
                quiet = self._silent(thread, overlaps(unclaimed, spoken)[2])
                self._claim(quiet, spoken)
                rest.append(minus(unclaimed, quiet))
            left = merge(*rest)
        return left

    def _silent(self, thread: int, asked: Spans) -> Spans:
        """Return the parts of ``asked`` in which ``thread`` is in no CUDA call."""
        if not len(asked):
            return asked
        self._ask(asked)
        calls = self._work.arrow("asked_call", thread=thread, shift=self._shift)
        start, end = calls["start_ns"].to_numpy(), calls["end_ns"].to_numpy()
        return minus(asked, flatten(start, end, np.zeros(len(start), np.int64)))

    def _ask(self, asked: Spans) -> None:
        self._work.keep("asked", pa.table({"start_ns": asked.start, "end_ns": asked.end}))
        self._work.table("asked_slice", shift=self._shift)

    def _shadows(self, left: Spans) -> Spans:
        """After a blocking call the host fills the queue again: the call casts a shadow.

        It reaches no further than the launch, ends where the program begins a range of its own,
        and with the call's own idle time never exceeds the call's length.
        """
        found = [nothing()]
        for thread, mine in self._by_thread(left):
            own = self._cast(mine, thread)
            rest = minus(mine, own) if len(own) else mine
            found.append(own)
            for other in self._others(thread):
                cast = self._silent(thread, self._cast(rest, other))
                found.append(cast)
                rest = minus(rest, cast) if len(cast) else rest
        shadows = merge(*found)
        if not len(shadows):
            return left
        return minus(left, self._capped(shadows))

    def _cast(self, left: Spans, thread: int) -> Spans:
        """Return where shadows of the calls of ``thread`` fall, by number of the casting."""
        waits = self.evidence.of([thread], PLACE["host_sync"])
        if not len(waits) or not len(left):
            return nothing()
        idle_start = self._idle_start[left.of]
        before = np.searchsorted(waits.start, idle_start, side="right") - 1
        near = before >= 0
        near[near] = waits.end[before[near]] >= idle_start[near] - SHADOW_NS
        caster = waits.of[before[near]]
        lit = left.take(near)
        number = len(self._cast_row) + np.arange(len(lit))
        self._cast_row = np.concatenate([self._cast_row, lit.of])
        self._caster = np.concatenate([self._caster, caster])
        shade = Spans(np.maximum(lit.start, self.evidence.end[caster]), lit.end, number)
        return self._outside_ranges(shade.take(shade.length > 0), thread)

    def _outside_ranges(self, shade: Spans, thread: int) -> Spans:
        """Drop what lies in a range that the program began after the call: it speaks for itself."""
        if not len(shade):
            return shade
        call_end = self.evidence.end[self._caster[shade.of]]
        self._ask(Spans(call_end, shade.end, shade.of))
        table = self._work.arrow(
            "asked_range", thread=thread, shift=self._shift, **self._step_ranges
        )
        start, end = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
        first = np.searchsorted(start, call_end, side="left")
        last = np.searchsorted(start, shade.end, side="left")
        spoken = [nothing()]
        for k in np.flatnonzero(last > first):
            begin = np.maximum(start[first[k] : last[k]], shade.start[k])
            stop = np.minimum(end[first[k] : last[k]], shade.end[k])
            spoken.append(flatten(begin, stop, np.zeros(len(begin), np.int64)))
        return minus(shade, merge(*spoken))

    def _capped(self, shadows: Spans) -> Spans:
        """Cut shadows to what their calls have left, the earliest first; book and return them."""
        caster = self._caster[shadows.of]
        call = self.evidence.call[caster]
        used = self._used_by_call()
        length = self._call_length()
        kept = np.zeros(len(shadows), np.int64)
        for k, (one, ns) in enumerate(zip(call.tolist(), shadows.length.tolist(), strict=True)):
            kept[k] = max(0, min(ns, length[one] - used.get(one, 0)))
            used[one] = used.get(one, 0) + int(kept[k])
        cut = Spans(shadows.start, shadows.start + kept, self._cast_row[shadows.of])
        some = kept > 0
        place = np.full(int(some.sum()), PLACE["host_sync"], np.int64)
        self._claims.add(cut.take(some), place, caster[some], shadow=True)
        return cut.take(some)

    def _call_length(self) -> dict[int, int]:
        waits = self.evidence.call >= 0
        length = (self.evidence.end - self.evidence.start)[waits]
        return dict(zip(self.evidence.call[waits].tolist(), length.tolist(), strict=True))

    def _used_by_call(self) -> dict[int, int]:
        used: dict[int, int] = {}
        claims = self._claims
        for rows, start, end in zip(claims.evidence, claims.start, claims.end, strict=True):
            known = rows >= 0
            call = self.evidence.call[rows[known]]
            pairs = zip(call.tolist(), (end - start)[known].tolist(), strict=True)
            for one, ns in pairs:
                if one >= 0:
                    used[one] = used.get(one, 0) + ns
        return used

    def _launch_bound(self, left: Spans) -> Spans:
        bound = self._bound[left.of]
        self._book(left.take(bound), PLACE["launch_bound"])
        return left.take(~bound)

    def _user_ranges(self, left: Spans) -> Spans:
        rest = [nothing()]
        for thread, mine in self._by_thread(left):
            own = self._islands(thread)
            covered = overlaps(mine, own)[2]
            self._book(covered, PLACE["host_other_nvtx"])
            unclaimed = minus(mine, own)
            for other in self._others(thread):
                spoken = self._silent(thread, overlaps(unclaimed, self._islands(other))[2])
                self._book(spoken, PLACE["host_other_nvtx"])
                unclaimed = minus(unclaimed, spoken)
            rest.append(unclaimed)
        return merge(*rest)

    def _islands(self, thread: int) -> Spans:
        if thread not in self._own_ranges:
            self._own_ranges[thread] = self._read_islands(thread)
        return self._own_ranges[thread]

    def _read_islands(self, thread: int) -> Spans:
        table = self._work.arrow("user_island", thread=thread, **self._step_ranges)
        start, end = table["start_ns"].to_numpy(), table["end_ns"].to_numpy()
        return Spans(start, end, np.zeros(len(start), np.int64))

    def _launch_calls(self, rows: Ints) -> None:
        """A launch call of over a millisecond holds something else: find it, or a first launch."""
        some = self._long & (self._launch_until > self._host_until)
        left = Spans(self._host_until[some], self._launch_until[some], rows[some])
        causes = [PLACE["jit_or_load"], PLACE["cuda_malloc_free"]]
        for thread, mine in self._by_thread(left):
            rest = self._claim(mine, layers([self.evidence.of([thread], p) for p in causes]))
            self._book(rest.take(self._first[rest.of]), PLACE["jit_or_load"])

    def _book(self, spans: Spans, place: int) -> None:
        size = len(spans)
        self._claims.add(
            spans, np.full(size, place, np.int64), np.full(size, NO_EVIDENCE, np.int64)
        )

    def _keep(self) -> None:
        claims = self._claims
        row, start = np.concatenate(claims.row), np.concatenate(claims.start)
        table = pa.table(
            {
                "gap": self._gap[row],
                "step": self._step[row],
                "in_call": start >= self._host_until[row],
                "start_ns": start,
                "end_ns": np.concatenate(claims.end),
                "place": np.concatenate(claims.place),
                "evidence": np.concatenate(claims.evidence),
                "shadow": np.concatenate(claims.shadow),
            }
        )
        self._work.keep("host_claim", table)
