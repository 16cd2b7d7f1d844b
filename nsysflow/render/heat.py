"""The heat map of step times, rank by step: run-length coded cells in six levels."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from nsysflow.render import units

# Ranks that agree this well have one step time; a map would show stripes only.
AGREE = 0.01
# A level begins at this much above the median of all cells.
LEVELS = (0.01, 0.05, 0.1, 0.2, 0.5)
_MAX_COLUMNS = 256
_GRID_CELLS = 40
_CELL = 24
_SHADES = "the darker (in the dark theme: the brighter)"


@dataclass(frozen=True)
class Line:
    """A row of the map: its name and, per column, what the cell says."""

    label: str


@dataclass(frozen=True)
class Map:
    """One path per level over a grid of ``columns`` by ``rows`` units."""

    columns: int
    rows: int
    height: int
    cell: int
    paths: tuple[tuple[str, str], ...]
    missing: str
    grid: tuple[str, ...]
    labels: tuple[str, ...]
    ticks: tuple[tuple[str, str], ...]
    legend: tuple[tuple[str, str], ...]
    note: str
    spoken: str


def step_times(
    ranks: Sequence[Mapping[str, Any]], names: Sequence[str], steps: Sequence[int] = ()
) -> tuple[Map | None, str]:
    """Return the map, or None and the sentence that says why there is none.

    ``steps`` are the numbers of the steps that all ranks have; of no use if ranks have more.
    """
    series = [
        (name, rank["step_ns"]) for name, rank in zip(names, ranks, strict=True) if rank["step_ns"]
    ]
    if not series or max(len(times) for _, times in series) < 2:  # noqa: PLR2004 - one column
        return None, "no rank has two steps"
    columns = max(len(times) for _, times in series)
    if len({len(times) for _, times in series}) > 1:
        note = "Ranks kept different numbers of steps; columns are counted from each rank’s first. "
    else:
        note = ""
    if len(series) > 1 and _agree(series):
        return None, f"step times agree within {units.share(AGREE)} on all ranks in every step"
    shown, rows = _grouped(series)
    middle = statistics.median_low([t for _, times in series for t in times])
    note += f"Each cell is one step of one {rows}; {_SHADES}, the longer."
    if max(rank["steps_kept"] for rank in ranks) > columns:
        note += " Columns are medians of equally many steps."
    elif len(steps) != columns:
        note += " Columns count the kept steps, the first is 1."
    drawn = _map(shown, columns, middle, note)
    if len(steps) == columns:
        drawn = replace(drawn, ticks=_ticks(drawn.columns, -(-columns // drawn.columns), steps))
    return drawn, ""


def lateness(late: Mapping[str, Any], step_ns: int, names: Mapping[str, str]) -> Map | None:
    """Return the map of how late each rank came last, None where that is little everywhere."""
    rows = [(names.get(row["label"], units.clean(row["label"])), row["ns"]) for row in late["rows"]]
    longest = max((ns for _, times in rows for ns in times), default=0)
    if not step_ns or len(late["steps"]) < 2 or longest < LEVELS[0] * step_ns:  # noqa: PLR2004
        return None
    # Levels stand for time above a step: lateness is laid on top of one.
    series = [(name, [step_ns + ns for ns in times]) for name, times in rows]
    shown, group = _grouped(series)
    note = (
        f"Each cell is how late one {group} came last to a collective, against the median of the "
        f"others, at most in one step; {_SHADES}, the later."
    )
    drawn = _map(shown, len(late["steps"]), step_ns, note)
    first = ("heat0", f"up to {units.duration(round(step_ns * LEVELS[0]))}")
    more = [
        (f"heat{at}", f"from {units.duration(round(step_ns * level))}")
        for at, level in enumerate(LEVELS, 1)
    ]
    _, name = max((ns, name) for name, times in rows for ns in times)
    spoken = f"Lateness by rank and step; longest {units.duration(longest)} on {name}."
    ticks = _ticks(drawn.columns, -(-len(late["steps"]) // drawn.columns), late["steps"])
    return replace(drawn, legend=(first, *more), spoken=spoken, ticks=ticks)


def _agree(series: Sequence[tuple[str, Sequence[int]]]) -> bool:
    lengths = {len(times) for _, times in series}
    if len(lengths) > 1:
        return False
    together = zip(*(times for _, times in series), strict=True)
    return all(max(step) - min(step) <= AGREE * statistics.median_low(step) for step in together)


def _grouped(
    series: Sequence[tuple[str, Sequence[int]]],
) -> tuple[list[tuple[str, list[int]]], str]:
    """Join ranks in groups of equal size above 64 rows; a cell is the group's worst rank."""
    size = -(-len(series) // 64)
    if size == 1:
        return [(name, list(times)) for name, times in series], "rank"
    joined = []
    for at in range(0, len(series), size):
        group = series[at : at + size]
        width = max(len(times) for _, times in group)
        worst = [max(times[k] for _, times in group if k < len(times)) for k in range(width)]
        joined.append((f"{group[0][0]} – {group[-1][0].removeprefix('rank ')}", worst))
    return joined, f"group of {size} ranks (its slowest)"


def _map(rows: Sequence[tuple[str, Sequence[int]]], columns: int, middle: int, note: str) -> Map:
    size = -(-columns // _MAX_COLUMNS)
    width = -(-columns // size)
    runs: dict[int, list[str]] = {}
    missing = []
    for y, (_, times) in enumerate(rows):
        cells = [
            _level(max(times[at : at + size]), middle) if at < len(times) else -1
            for at in range(0, columns, size)
        ]
        for level, x, length in _runs(cells):
            path = f"M{x} {y}h{length}v1h-{length}z"
            if level < 0:
                missing.append(path)
            else:
                runs.setdefault(level, []).append(path)
    cell = _CELL if len(rows) <= 16 else 10  # noqa: PLR2004 - as many as have readable labels
    grid = [f"M0 {y}h{width}" for y in range(1, len(rows))]
    grid += [f"M{x} 0v{len(rows)}" for x in range(1, width)] if width <= _GRID_CELLS else []
    slow = max(((max(times), name) for name, times in rows if times), default=(0, ""))
    return Map(
        columns=width,
        rows=len(rows),
        height=cell * len(rows),
        cell=cell,
        paths=tuple((f"heat{level}", "".join(parts)) for level, parts in sorted(runs.items())),
        missing="".join(missing),
        grid=tuple(grid),
        labels=tuple(
            name if cell == _CELL or at % 4 == 0 else "" for at, (name, _) in enumerate(rows)
        ),
        ticks=_ticks(width, size),
        legend=_legend(middle),
        note=note + (f" A column is {size} steps, the longest shown." if size > 1 else ""),
        spoken=f"Step time by rank and step, median {units.duration(middle)}; "
        f"longest {units.duration(slow[0])} on {slow[1]}.",
    )


def _level(time: int, middle: int) -> int:
    over = units.ratio(time - middle, middle)
    return sum(over >= level for level in LEVELS)


def _runs(cells: Sequence[int]) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    for x, level in enumerate(cells):
        if runs and runs[-1][0] == level:
            runs[-1] = (level, runs[-1][1], runs[-1][2] + 1)
        else:
            runs.append((level, x, 1))
    return runs


def _ticks(width: int, size: int, steps: Sequence[int] = ()) -> tuple[tuple[str, str], ...]:
    """Return where columns are named, by the numbers of their steps where those are known."""
    every = max(1, -(-width // 16))
    return tuple(
        (f"{100 * (x + 0.5) / width:.2f}%", str(steps[x * size] if steps else x * size + 1))
        for x in range(0, width, every)
    )


def _legend(middle: int) -> tuple[tuple[str, str], ...]:
    first = ("heat0", f"up to {units.duration(round(middle * (1 + LEVELS[0])))}")
    more = [
        (f"heat{at}", f"from {units.duration(round(middle * (1 + level)))}")
        for at, level in enumerate(LEVELS, 1)
    ]
    return (first, *more)
