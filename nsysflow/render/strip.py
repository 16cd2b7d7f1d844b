"""The strip of steps and the waterfall from the peak to MFU."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nsysflow.model import BUCKETS
from nsysflow.render import units
from nsysflow.render.bars import percent
from nsysflow.render.sections import Document, section
from nsysflow.render.words import BUCKET, WATERFALL, plain, step_drop

MAX_BARS = 120
HEIGHT = 96
_LABEL_EVERY = 30
# Three steps would otherwise be three walls.
_FEWEST_SLOTS = 10


@dataclass(frozen=True)
class Piece:
    """A rectangle of a step's bar; y and height in px."""

    css: str
    y: str
    height: str


@dataclass(frozen=True)
class Bar:
    """One step (or several); ``x`` and ``width`` in per cent."""

    x: str
    width: str
    middle: str
    title: str
    label: str
    above: str
    pieces: tuple[Piece, ...]


@dataclass(frozen=True)
class Strip:
    """All bars, what one of them stands for, and the sentence for those who cannot see it."""

    bars: tuple[Bar, ...]
    note: str
    flags: str
    spoken: str


def strip(document: Document) -> Strip | None:
    """Return the strip of all steps in time order; above 120 steps one bar stands for several."""
    steps = section(document, "steps")
    items = steps.get("items") or ()
    if len(items) < 2:  # noqa: PLR2004 - one bar shows nothing
        return None
    reasons = {item["index"]: item["reason"] for item in steps.get("dropped") or ()}
    tallest = max(item["end_ns"] - item["start_ns"] for item in items) or 1
    size = -(-len(items) // MAX_BARS)
    groups = [items[at : at + size] for at in range(0, len(items), size)]
    bars = tuple(_bar(group, at, len(groups), tallest, reasons) for at, group in enumerate(groups))
    kept = [item["end_ns"] - item["start_ns"] for item in items if item["kept"]]
    shown = "each bar one step" if size == 1 else f"each bar the median of {size} steps"
    return Strip(
        bars,
        f"{shown}, the tallest {units.duration(tallest)}",
        "; ".join(
            text
            for mark, text in (("×", "hatched and ×: dropped"), ("!", "!: outlier"))
            if any(bar.above == mark for bar in bars)
        ),
        f"{len(items)} steps, {len(kept)} kept, {units.spread(min(kept or [0]), max(kept or [0]))}",
    )


def _dur(item: Mapping[str, Any]) -> int:
    return int(item["end_ns"] - item["start_ns"])


def _bar(
    group: Sequence[Mapping[str, Any]],
    at: int,
    bars: int,
    tallest: int,
    reasons: Mapping[int, str],
) -> Bar:
    kept = [item for item in group if item["kept"]]
    shown = sorted(kept or group, key=_dur)[(len(kept or group) - 1) // 2]
    width = 1 / max(bars, _FEWEST_SLOTS)
    name = shown["number"] if shown["number"] is not None else shown["index"]
    what = f"step {name}, {units.duration(_dur(shown))}"
    if len(group) > 1:
        durations = [_dur(item) for item in group]
        what = f"{len(group)} steps, {units.spread(min(durations), max(durations))}"
    reason = "" if kept else f"dropped: {step_drop(reasons.get(shown['index'], 'no reason given'))}"
    flags = "outlier, " if shown["outlier"] else ""
    return Bar(
        x=percent(at * width + width * 0.1),
        width=percent(width * 0.8),
        middle=percent(at * width + width / 2),
        title=units.clean(
            f"{what}{', ' + flags.rstrip(', ') if flags else ''}{', ' + reason if reason else ''}"
        ),
        label=str(name) if bars <= _LABEL_EVERY or at % (bars // 10) == 0 else "",
        above="×" if not kept else ("!" if shown["outlier"] else ""),
        pieces=_pieces(shown, tallest, kept=bool(kept)),
    )


def _pieces(item: Mapping[str, Any], tallest: int, *, kept: bool) -> tuple[Piece, ...]:
    full = HEIGHT * _dur(item) / tallest
    if not kept:
        return (Piece("nr", f"{HEIGHT - full:.1f}", f"{full:.1f}"),)
    pieces = []
    top = float(HEIGHT)
    for name in BUCKETS:
        height = HEIGHT * item["buckets"][name] / tallest
        if height > 0:
            top -= height
            pieces.append(Piece(BUCKET[name].css, f"{top:.1f}", f"{height:.1f}"))
    return tuple(pieces)


def median_number(values: Sequence[int]) -> int:
    """Return the median of integers, the middle two averaged."""
    return round(statistics.median(values)) if values else 0


@dataclass(frozen=True)
class Fall:
    """One row of the waterfall, from its left edge, in per cent of the peak."""

    label: str
    css: str
    x: str
    width: str
    points: str
    strong: bool = False


def waterfall(mfu: Mapping[str, Any]) -> list[Fall]:
    """Return the way from the peak down to MFU, largest name order reversed as it falls."""
    rows = list(mfu.get("waterfall") or ())
    if not rows:
        return []
    falls = [Fall("Peak", "track", "0%", "100%", "100.0", strong=True)]
    edge = 1.0
    for row in reversed(rows):
        label, css = WATERFALL.get(row["name"], (plain(row["name"]), "nr"))
        last = row["name"] == "mfu"
        edge = 0.0 if last else edge - row["frac"]
        points = f"{100 * row['frac']:.1f}" if row["frac"] else "0"
        if not last and row["frac"]:
            points = units.MINUS + points
        falls.append(
            Fall(label, css, percent(max(edge, 0.0)), percent(row["frac"]), points, strong=last)
        )
    return falls
