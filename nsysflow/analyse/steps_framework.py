"""Steps from the ranges of Lightning, DeepSpeed and Megatron, each by what begins and ends one."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence

from nsysflow.analyse.steps import HostStep, Series, events_of
from nsysflow.analyse.steps_cycle import Event, outermost
from nsysflow.analyse.workspace import Row, Workspace

Enders = Callable[[int], list[Event]]
Weigh = Callable[[Sequence[Sequence[HostStep]]], list[dict[int, Row]]]


def series(work: Workspace, rows: Sequence[Row], enders: Enders, weigh: Weigh) -> list[Series]:
    """Return the possible series of framework ranges, by family and thread.

    ``enders`` gives the optimizer ranges of a thread, which end a step where a framework has no
    range of its own for that; ``weigh`` tells what the device did for each of some ranges.
    """
    found = []
    keys = sorted({(row["family"], row["thread"]) for row in rows})
    for family, thread in keys:
        mine = [row for row in rows if (row["family"], row["thread"]) == (family, thread)]
        own = outermost(_events(work, mine, "end"))
        ends = _that_optimize(own or enders(thread), weigh)
        for row in mine:
            if row["role"] == "end" or not row["disjoint"] or not row["ranges"]:
                continue
            units = outermost(events_of(work, row))
            steps = _steps(units, ends, whole=row["role"] == "step")
            if len(steps) > 1:
                pattern = _pattern(row, ends)
                found.append(
                    Series("framework", pattern, tuple(steps), thread, unfinished="partial")
                )
    return found


def _pattern(row: Row, ends: Sequence[Event]) -> str:
    """Name what delimits the steps: one text only where its ranges are the steps themselves."""
    if row["role"] == "step":
        return str(row["series"])
    return f"{row['series']} to {ends[-1].name if ends else 'the next'}"


def _events(work: Workspace, rows: Sequence[Row], role: str) -> list[Event]:
    return [event for row in rows if row["role"] == role for event in events_of(work, row)]


def _that_optimize(ends: Sequence[Event], weigh: Weigh) -> list[Event]:
    """Leave out calls that only count a micro-batch: they launch no optimizer kernel."""
    if not ends:
        return []
    (weights,) = weigh([[HostStep(None, e.start_ns, e.end_ns) for e in ends]])
    real = [k for k in range(len(ends)) if k in weights and weights[k]["optimizer_ops"]]
    return [ends[k] for k in real] if real else list(ends)


def _steps(units: Sequence[Event], ends: Sequence[Event], *, whole: bool) -> list[HostStep]:
    """Return steps from ranges that begin parts of them and ranges that end them.

    A step reaches from the first unit after the end of the one before to the last end before the
    next unit. Without ends a ``whole`` unit is a step, any other reaches to the next unit.
    """
    if ends:
        return _to_their_ends(units, ends)
    if whole:
        return [HostStep(None, unit.start_ns, unit.end_ns) for unit in units]
    starts = [unit.start_ns for unit in units]
    return [
        HostStep(None, start, end) for start, end in zip(starts, [*starts[1:], None], strict=True)
    ]


def _to_their_ends(units: Sequence[Event], ends: Sequence[Event]) -> list[HostStep]:
    steps: list[HostStep] = []
    starts = [end.start_ns for end in ends]
    begun: int | None = None
    for k, unit in enumerate(units):
        begun = unit.start_ns if begun is None else begun
        until = units[k + 1].start_ns if k + 1 < len(units) else None
        first = bisect_left(starts, unit.start_ns)
        last = len(ends) if until is None else bisect_left(starts, until)
        if last > first:
            # An end may lie inside its unit: what the unit does after it is still of this step.
            steps.append(HostStep(None, begun, max(ends[last - 1].end_ns, unit.end_ns)))
            begun = None
    if begun is not None:
        steps.append(HostStep(None, begun, None))
    return steps
