"""Steps from annotations: the user's, numbered ones, a framework's, optimizer steps."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from nsysflow.analyse import steps_framework
from nsysflow.analyse.steps import HostStep, Series, events_of, rows_of, weigh
from nsysflow.analyse.steps_cycle import Event, last_of_cycle, outermost, together
from nsysflow.analyse.workspace import Row, Workspace
from nsysflow.settings import Settings

# Longer digits are ids, not steps, and would not survive a JSON reader.
MOST_DIGITS = 15
# A series within 5 % of the best is as good; the one with fewer, longer ranges is the step.
NEARLY = 0.95
# A trace whose every range looks like a step is not worth more than its longest series.
MOST_SERIES = 16
# No capture holds so many steps; what repeats so often is a part of one.
MOST_RANGES = 200_000
REFUSED = {
    "jax": "JAX and XLA ranges are not read as steps; name one with --step-range",
    "inference": "the annotations are those of an inference server, which has no training steps",
}


@dataclass
class Ranges:
    """The annotations of one lane's process that may be steps.

    ``by_start``: no launch is known, so a range owns what began meanwhile.
    """

    work: Workspace
    process: int
    settings: Settings
    shift: int
    by_start: bool
    candidates: list[Row] = field(init=False)

    def __post_init__(self) -> None:
        """Find the candidates; their ranges are read only when their source is asked."""
        self.work.table("step_text", process=self.process, step_range=self.settings.step_range)
        self.work.table("step_range", process=self.process)
        self.candidates = [
            row for row in self.work.rows("step_series", "stages") if row["ranges"] <= MOST_RANGES
        ]

    def refused(self) -> str | None:
        """Return why this program's own annotations are not taken for steps, None if they may."""
        found = {row["source"] for row in self.work.rows("step_refused", "stages")}
        return next((text for kind, text in REFUSED.items() if kind in found), None)

    def overlapping(self, source: str) -> bool:
        """Whether a source has ranges, none of them a series because they overlap."""
        found = [row for row in self._of(source) if row["ranges"]]
        return bool(found) and not any(row["disjoint"] for row in found)

    def best(self, source: str) -> Series | None:
        """Return the best series of one source, None where it has none that owns device work."""
        if source == "optimizer_range":
            series = self._optimizers()
        elif source == "framework":
            series = steps_framework.series(
                self.work, self._of(source), self._enders, self._weighed
            )
        else:
            series = [self.read(row) for row in self._longest(source)]
        return self._best(series)

    def optimizer_ends(self) -> list[int]:
        """Return where optimizer steps end on the host, on the thread that has most; sorted."""
        by_thread = self._optimizer_events()
        events = max(by_thread.values(), key=len, default=[])
        return [event.end_ns for event in outermost(events)]

    def _of(self, source: str) -> list[Row]:
        return [row for row in self.candidates if row["source"] == source]

    def _longest(self, source: str) -> list[Row]:
        series = [row for row in self._of(source) if _is_series(row)]
        return sorted(series, key=lambda r: (-r["host_ns"], _identity(r)))[:MOST_SERIES]

    def read(self, row: Row) -> Series:
        """Return the ranges behind a row of step_series."""
        steps = tuple(
            HostStep(_number(r["number"]), r["start_ns"], r["end_ns"])
            for r in rows_of(self.work, row)
        )
        return Series(row["source"], row["series"], steps, row["thread"])

    def _best(self, series: Sequence[Series]) -> Series | None:
        """Return the series with the greatest device time; of equals the fewer, longer."""
        if not series:
            return None
        weights = self._weighed([s.hosts() if s.ends_only else s.steps for s in series])
        owned = [sum(int(row["owned_ns"]) for row in rows.values()) for rows in weights]
        enough = max(owned) * NEARLY
        good = [i for i in range(len(series)) if owned[i] >= enough and owned[i] > 0]
        if not good:
            return None
        return series[min(good, key=lambda i: (len(series[i].steps), -owned[i], i))]

    def _weighed(self, series: Sequence[Sequence[HostStep]]) -> list[dict[int, Row]]:
        return weigh(self.work, series, self.shift, self.by_start)

    def _optimizer_events(self) -> dict[int, list[Event]]:
        found: dict[int, list[Event]] = defaultdict(list)
        for row in self._longest_enders():
            found[row["thread"]] += events_of(self.work, row)
        return found

    def _longest_enders(self) -> list[Row]:
        series = [row for row in self._of("optimizer_range") if row["ranges"]]
        return sorted(series, key=lambda r: (-r["host_ns"], _identity(r)))[:MOST_SERIES]

    def _enders(self, thread: int) -> list[Event]:
        return outermost(self._optimizer_events().get(thread, []))

    def _optimizers(self) -> list[Series]:
        """One boundary per step, however many optimizers a step has."""
        found = []
        for thread, every in sorted(self._optimizer_events().items()):
            single = outermost(every)
            events = together(single)
            ends = [HostStep(None, a.end_ns, b.end_ns) for a, b in pairwise(events)]
            (weights,) = self._weighed([ends])
            ops = [0, *(weights[k]["ops"] if k in weights else 0 for k in range(len(ends)))]
            pauses = [b.start_ns - a.end_ns for a, b in pairwise(events)] + [0]
            last = last_of_cycle(events, ops, pauses, by_name=len(events) == len(single))
            if len(last) > 1:
                steps = tuple(HostStep(None, e.start_ns, e.end_ns) for e in last)
                found.append(
                    Series("optimizer_range", last[-1].name, steps, thread, ends_only=True)
                )
        return found


def _is_series(row: Row) -> bool:
    found = row["ranges"] + row["open"]
    return bool(row["disjoint"]) and row["ranges"] > 0 and found >= (1 if row["lone"] else 2)


def _identity(row: Row) -> tuple[str, int, int]:
    return (row["series"], row["domain"], row["thread"])


def _number(text: str | None) -> int | None:
    return int(text) if text is not None and len(text) <= MOST_DIGITS else None
