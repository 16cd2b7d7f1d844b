"""Host ranges that may be training steps: the vocabulary of every source of steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nsysflow.analyse.steps_cycle import Event
from nsysflow.analyse.workspace import Row, Workspace
from nsysflow.model import CLASSES

# Base confidence of each source, in the order in which sources are asked.
SOURCES = {
    "user": 1.0,
    "nvtx_step": 0.95,
    "framework": 0.88,
    "optimizer_range": 0.85,
    "optimizer_kernels": 0.75,
    "collectives": 0.6,
    "sequence": 0.6,
}
OPTIMIZER = CLASSES.index("optimizer")


@dataclass(frozen=True)
class HostStep:
    """When the host was in one step: ``[start_ns, end_ns)``; ``end_ns`` is None while open.

    ``unclosed``: the range never ended, and ``end_ns`` is where the next one began.
    """

    number: int | None
    start_ns: int
    end_ns: int | None
    unclosed: bool = False


@dataclass(frozen=True)
class Series:
    """The ranges of a lane's steps by the host's clock, as they were annotated.

    ``ends_only``: the ranges say where their steps end, not where they begin.
    ``unfinished``: why the last step has no end, where its range has none.
    """

    source: str
    pattern: str
    steps: tuple[HostStep, ...]
    thread: int | None = None
    ends_only: bool = False
    unfinished: str = "open"

    @property
    def confidence(self) -> float:
        """How far the source is to be believed."""
        return SOURCES[self.source]

    @property
    def partial_before(self) -> int:
        """How many steps the capture cut at its start: an optimizer range only ends its step."""
        return 1 if self.ends_only else 0

    def hosts(self) -> tuple[HostStep, ...]:
        """Return the host ranges without gaps: what lies between is the later one's.

        A range that never ends lasts until the next one begins, or its work would be that one's.
        """
        found: list[HostStep] = []
        start: int | None = None
        for step, after in zip(self.steps, (*self.steps[1:], None), strict=True):
            host = replace(step, start_ns=step.start_ns if start is None else start)
            if step.end_ns is None and after is not None and after.start_ns > host.start_ns:
                host = replace(host, end_ns=after.start_ns, unclosed=True)
            found.append(host)
            start = host.end_ns if host.end_ns is not None else start
        return tuple(found[self.partial_before :])


def put_ranges(work: Workspace, series: Sequence[Sequence[HostStep]]) -> None:
    """Make ``host_range`` from the closed ranges of each series, numbered as they come."""
    rows = [
        {"series": s, "step": k, "start_ns": step.start_ns, "end_ns": step.end_ns}
        for s, steps in enumerate(series)
        for k, step in enumerate(steps)
        if step.end_ns is not None
    ]
    types = {"series": "int32", "step": "int32", "start_ns": "int64", "end_ns": "int64"}
    work.put("host_range", rows, types)


def weigh(
    work: Workspace, series: Sequence[Sequence[HostStep]], shift: int, by_start: bool
) -> list[dict[int, Row]]:
    """Return what the device did for each range: per series, rows of series_work by range.

    ``by_start``: what began meanwhile, as no launch is known.
    """
    found: list[dict[int, Row]] = [{} for _ in series]
    put_ranges(work, series)
    work.table("host_range_bucket", shift=shift)
    params = {"shift": shift, "by_start": by_start, "optimizer": OPTIMIZER}
    for row in work.rows("series_work", "stages", **params):
        found[row["series"]][row["step"]] = row
    return found


def rows_of(work: Workspace, row: Row) -> list[Row]:
    """Return the ranges of one series by time."""
    names = ("source", "series", "domain", "thread")
    return work.rows("step_of_series", "stages", **{name: row[name] for name in names})


def events_of(work: Workspace, row: Row) -> list[Event]:
    """Return the closed ranges of one series as events."""
    return [
        Event(r["start_ns"], r["end_ns"], row["series"])
        for r in rows_of(work, row)
        if r["end_ns"] is not None
    ]
