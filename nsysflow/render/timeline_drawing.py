"""The static picture of a step: one SVG path per row and class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nsysflow.model import BUCKETS
from nsysflow.render import units
from nsysflow.render.bars import percent
from nsysflow.render.timeline_marks import WIDTH
from nsysflow.render.words import BUCKET

TOP = 24
ROW, STATE_ROW = 28, 58
# The state row shows shares per so many units, 5 px on a wide screen.
RIBBON = 10
# Coarser pictures are tried until the paths fit; the zoomable data keeps its own resolution.
_RESOLUTIONS = (1, 2, 4, 10)
_PICTURE_BYTES = 110_000
_TEXT_SHARE = 0.05
_TEXT_LENGTH = 24
_CHARACTER_SHARE = 0.0075
_LAST_TICK = 0.97
# In a row of so few marks each gets an outline, which shows however short the mark is.
FEW = 60
# A twentieth of a pixel is not seen.
_SEEN = 0.05
NONE = "none"
_BUCKET_ORDER = [BUCKET[name].css for name in BUCKETS]

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Path:
    """All marks of one class in one row, as one SVG path."""

    css: str
    d: str


@dataclass(frozen=True)
class Text:
    """A word on or beside the picture; ``x`` in per cent, ``y`` in px."""

    x: str
    y: int
    text: str


def layout(kinds: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the top and the height of every row, in px."""
    tops, heights, y = [], [], TOP
    for kind in kinds:
        tops.append(y)
        heights.append(STATE_ROW if kind == "state" else ROW)
        y += heights[-1]
    return tops, heights


def paths(
    rows: Sequence[Row], dur: int, css: Sequence[str], tops: Sequence[int]
) -> tuple[Path, ...]:
    """Draw all rows, as fine as the paths may be."""
    drawn: list[Path] = []
    for coarse in _RESOLUTIONS:
        drawn = []
        for row, top in zip(rows, tops, strict=True):
            if row["kind"] == "state":
                drawn += _ribbon(row, dur, css, top)
            else:
                few = len(row["marks"]) <= FEW
                drawn += [
                    Path(f"{path.css} few", path.d) if few else path
                    for path in _row(row, dur, css, top, coarse)
                ]
        if sum(len(path.d) for path in drawn) <= _PICTURE_BYTES:
            break
    return tuple(drawn)


def _row(row: Row, dur: int, css: Sequence[str], top: int, coarse: int) -> list[Path]:
    """Draw marks of at least one unit as they are; pile shorter ones up per unit, lower."""
    full, base = ROW - 12, top + ROW - 2
    unit = dur * coarse / WIDTH
    drawn: dict[tuple[int, int], list[str]] = {}
    piles: dict[int, dict[int, float]] = {}
    for (start, length, kind, _name, _n, share), level in zip(
        row["marks"], levels(row["marks"]), strict=True
    ):
        if length >= unit:
            x = round(start / dur * WIDTH)
            width = max(1, round((start + length) / dur * WIDTH) - x)
            height = max(1, round(full * share))
            drawn.setdefault((level, int(kind)), []).append(_box(x, base - height, width, height))
        else:
            pile = piles.setdefault(int(start / unit), {})
            pile[int(kind)] = pile.get(int(kind), 0.0) + length * share / unit
    for at, pile in sorted(piles.items()):
        bottom = base
        for kind, covered in sorted(pile.items()):
            height = min(bottom - base + full, max(1, round(full * min(1.0, covered))))
            if height > 0:
                bottom -= height
                drawn.setdefault((0, kind), []).append(_box(at * coarse, bottom, coarse, height))
    return [Path(css[kind], "".join(boxes)) for (_, kind), boxes in sorted(drawn.items())]


def levels(marks: Sequence[Sequence[float]]) -> list[int]:
    """Return how far in front each mark stands: of merged ones that overlap the lower one does.

    Without that the fill that comes last would hide what it overlaps. ``marks`` begin in order.
    """
    merged = [at for at, mark in enumerate(marks) if mark[5] < 1]
    higher: dict[int, list[int]] = {at: [] for at in merged}
    for place, at in enumerate(merged):
        end = marks[at][0] + marks[at][1]
        for other in merged[place + 1 :]:
            if marks[other][0] >= end:
                break
            low, high = (at, other) if marks[at][5] < marks[other][5] else (other, at)
            higher[low].append(high)
    found = [0] * len(marks)
    for at in sorted(merged, key=lambda at: (-marks[at][5], at)):
        found[at] = 1 + max((found[other] for other in higher[at]), default=0)
    return found


def _ribbon(row: Row, dur: int, css: Sequence[str], top: int) -> list[Path]:
    """Draw the share of each bucket per 5 px, compute at the bottom."""
    full, base = STATE_ROW - 12, top + STATE_ROW - 2
    bins = WIDTH // RIBBON
    width = dur / bins
    held: list[dict[int, float]] = [{} for _ in range(bins)]
    for start, length, kind, _name, _n, share in row["marks"]:
        first, last = int(start / width), int((start + length) / width)
        for at in range(max(0, first), min(bins - 1, last) + 1):
            inside = min(start + length, (at + 1) * width) - max(start, at * width)
            held[at][int(kind)] = held[at].get(int(kind), 0.0) + inside * share
    drawn: dict[int, list[str]] = {}
    for at, shares in enumerate(held):
        total, y = sum(shares.values()), float(base)
        for kind in sorted(shares, key=lambda k: _place(css[k])):
            height = full * shares[kind] / total if total else 0
            if height >= _SEEN:
                y -= height
                drawn.setdefault(kind, []).append(
                    f"M{at * RIBBON} {y:.1f}h{RIBBON}v{height:.1f}h-{RIBBON}z"
                )
    return [Path(css[kind], "".join(boxes)) for kind, boxes in sorted(drawn.items())]


def _place(css: str) -> int:
    return _BUCKET_ORDER.index(css) if css in _BUCKET_ORDER else len(_BUCKET_ORDER)


def _box(x: int, y: int, width: int, height: int) -> str:
    return f"M{x} {y}h{width}v{height}h-{width}z"


def ticks(dur: int) -> tuple[Text, ...]:
    """Return the marks of the time axis, about nine."""
    rough = dur / 9
    power = 10 ** max(0, len(str(int(rough))) - 1)
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
    return tuple(
        Text(percent(at / dur), 13, units.duration(at))
        for at in range(0, dur, step)
        if at < _LAST_TICK * dur
    )


def texts(
    rows: Sequence[Row], dur: int, names: Sequence[str], tops: Sequence[int]
) -> tuple[Text, ...]:
    """Return the names of phases that are wide enough to carry one; rows without marks say so."""
    written = []
    for row, top in zip(rows, tops, strict=True):
        if not row["marks"]:
            written.append(Text(percent(0), top + 22, NONE))
        for start, length, _class, name, _n, _share in (
            row["marks"] if row["kind"] == "nvtx" else ()
        ):
            text = units.clean(names[int(name)])[:_TEXT_LENGTH] if name >= 0 else ""
            if text and length >= dur * max(_TEXT_SHARE, _CHARACTER_SHARE * len(text)):
                written.append(Text(percent(start / dur), top + 22, text))
    return tuple(written)
