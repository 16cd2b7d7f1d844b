"""Find the host ranges that are training steps: the user's, numbered ones, or optimizer steps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from nsysflow.analyse.workspace import Row, Workspace
from nsysflow.settings import Settings

# Longer digits are ids, not steps, and would not survive a JSON reader.
MOST_DIGITS = 15
# Base confidence of each source, in the order in which sources are asked.
SOURCES = {"user": 1.0, "nvtx_step": 0.95, "framework": 0.88, "optimizer_range": 0.85}
# A series within 5 % of the best is as good; the one with fewer, longer ranges is the step.
NEARLY = 0.95
# A trace whose every range looks like a step is not worth more than its longest series.
MOST_SERIES = 16


@dataclass(frozen=True)
class HostStep:
    """When the host was in one step: ``[start_ns, end_ns)``; ``end_ns`` is None while open."""

    number: int | None
    start_ns: int
    end_ns: int | None


@dataclass(frozen=True)
class Series:
    """The ranges of a lane's steps by the host's clock, as they were annotated."""

    source: str
    pattern: str
    confidence: float
    steps: tuple[HostStep, ...]
    thread: int | None = None

    @property
    def partial_before(self) -> int:
        """How many steps the capture cut at its start: an optimizer range only ends its step."""
        return 1 if self.source == "optimizer_range" else 0

    def hosts(self) -> tuple[HostStep, ...]:
        """Return the host ranges without gaps: what lies between is the later one's."""
        found: list[HostStep] = []
        start: int | None = None
        for step in self.steps:
            found.append(replace(step, start_ns=step.start_ns if start is None else start))
            start = step.end_ns if step.end_ns is not None else start
        return tuple(found[self.partial_before :])


def find_series(work: Workspace, process: int, settings: Settings, shift: int) -> Series | None:
    """Return the best series of step ranges, or None where no source has one.

    A source is asked only if the ones above it have none that owns device work.
    """
    work.table("step_text", process=process, step_range=settings.step_range)
    work.table("step_range", process=process)
    candidates = [row for row in work.rows("step_series", "stages") if _is_series(row)]
    for source in SOURCES:
        series = [row for row in candidates if row["source"] == source]
        series = sorted(series, key=lambda r: (-r["host_ns"], _identity(r)))[:MOST_SERIES]
        if best := _best(work, series, shift):
            return best
    return None


def _is_series(row: Row) -> bool:
    return bool(row["disjoint"]) and row["ranges"] >= (1 if row["lone"] else 2)


def _identity(row: Row) -> tuple[str, int, int]:
    return (row["series"], row["domain"], row["thread"])


def _best(work: Workspace, series: Sequence[Row], shift: int) -> Series | None:
    if not series:
        return None
    found = [_series(work, row) for row in series]
    put_ranges(work, [each.steps for each in found])
    work.table("host_range_bucket", shift=shift)
    owned = {
        row["series"]: int(row["owned_ns"])
        for row in work.rows("series_work", "stages", shift=shift)
    }
    if not owned:
        return None
    enough = max(owned.values()) * NEARLY
    good = [i for i in range(len(found)) if owned.get(i, 0) >= enough and owned.get(i, 0) > 0]
    return found[min(good, key=lambda i: (len(found[i].steps), -owned[i], _identity(series[i])))]


def _series(work: Workspace, row: Row) -> Series:
    names = ("source", "series", "domain", "thread")
    ranges = work.rows("step_of_series", "stages", **{name: row[name] for name in names})
    steps = tuple(HostStep(_number(r["number"]), r["start_ns"], r["end_ns"]) for r in ranges)
    return Series(row["source"], row["series"], SOURCES[row["source"]], steps, row["thread"])


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) <= MOST_DIGITS else None


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
