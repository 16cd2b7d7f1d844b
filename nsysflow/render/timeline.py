"""The timeline of a few steps: a static picture, and the data that zooming needs.

A rank document carries it as::

    timeline  {status, t0_ns, classes:[text], names:[text], steps:[step]}
    step      {index, bin_ns, merged, rows:[row]}
              index: that of steps.items; its window gives start and length.
              bin_ns: marks shorter than this may be merged; merged: how many ops were.
    row       {label, kind, marks:[mark]}     top to bottom as they shall be drawn, at most 14
              kind: nvtx | state | stream | copies | idle | host
    mark      [start_ns, dur_ns, class, name, n, share]      sorted by (start_ns, dur_ns, class, name)
              start_ns: from the start of the step's window; class, name: positions in
              ``classes`` and ``names`` (name -1: none); n: ops it stands for, 1 or more;
              share: 0..1, the part of dur_ns that is covered, 1 for a single op.

Classes: tensor kernel graph · hidden transfer wait host_late unsplit bubble comm · copy · launch
blocking call · range · the six bucket names (state row) · the idle cause names (idle row).
The state row holds every interval of level 1, or one mark per bucket and bin where merged.
``t0_ns`` is the capture time that the page counts from. The first step given is shown first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nsysflow.model import BUCKETS, IDLE_CAUSES
from nsysflow.render import units
from nsysflow.render.bars import percent
from nsysflow.render.sections import Document, section, state
from nsysflow.render.words import BUCKET, IDLE_CAUSE, plain

WIDTH = 2200
TOP = 24
ROW, STATE_ROW = 28, 58
MAX_ROWS = 14
NAME_LIMIT = 160
# Coarser pictures are tried until the paths fit; the zoomable data keeps its own resolution.
_RESOLUTIONS = (1, 2, 4, 10)
_PICTURE_BYTES = 110_000
_RIBBON = 10
_MIN_TEXT_SHARE = 0.05
_FINE_NS = 10_000_000

_CSS = {
    "tensor": ("compute", "tensor kernel"),
    "kernel": ("c-nontensor", "other kernel"),
    "graph": ("graph", "graph"),
    "hidden": ("overlap", "comm, hidden"),
    "transfer": ("comm", "comm, transfer"),
    "wait": ("x-wait", "comm, wait"),
    "host_late": ("x-late", "comm, host late"),
    "unsplit": ("x-unsplit", "comm, not split"),
    "bubble": ("x-bubble", "pipeline bubble"),
    "comm": ("comm", "communication"),
    "copy": ("mem", "copy"),
    "launch": ("h-launch", "launch call"),
    "blocking": ("h-sync", "blocking call"),
    "call": ("h-launch", "other call"),
    "range": ("h-range", "range"),
}
CLASSES = (*_CSS, *BUCKETS, *IDLE_CAUSES)

Mark = Sequence[float]


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


@dataclass(frozen=True)
class Label:
    """The name of a row and its height in px."""

    text: str
    css: str
    state: bool


@dataclass(frozen=True)
class Picture:
    """Everything the template draws without JavaScript, and the data for the script."""

    height: int
    labels: tuple[Label, ...]
    paths: tuple[Path, ...]
    ticks: tuple[Text, ...]
    texts: tuple[Text, ...]
    legend: tuple[tuple[str, str, str], ...]
    options: tuple[str, ...]
    note: str
    step: str
    bin: str
    data: Mapping[str, Any]


def css_of(name: str) -> tuple[str, str]:
    """Return the fill and the legend text of a class name."""
    if name in _CSS:
        return _CSS[name]
    if name in BUCKET:
        return BUCKET[name].css, BUCKET[name].label.lower()
    if name in IDLE_CAUSE:
        return IDLE_CAUSE[name].css, IDLE_CAUSE[name].label
    return "nr", plain(name)


class Places:
    """Turns a moment of the capture into a link into the embedded timeline."""

    def __init__(self, document: Document) -> None:
        """Read which windows are embedded."""
        found = section(document, "timeline")
        steps = () if state(found) else found["steps"]
        items = {item["index"]: item for item in section(document, "steps").get("items") or ()}
        self.windows = [
            (items[step["index"]]["start_ns"], items[step["index"]]["end_ns"])
            for step in steps
            if step["index"] in items
        ]

    def at(self, start_ns: int, dur_ns: int) -> str | None:
        """Return ``position,start,duration`` (ns from the window's start), None if not shown."""
        for position, (start, end) in enumerate(self.windows):
            if start <= start_ns < end:
                return f"{position},{start_ns - start},{dur_ns}"
        return None


def picture(document: Document, marks: int) -> Picture | None:
    """Return the timeline with at most ``marks`` marks embedded, None where there is none."""
    found = section(document, "timeline")
    if state(found) or not found["steps"]:
        return None
    items = {item["index"]: item for item in section(document, "steps").get("items") or ()}
    shown = [step for step in found["steps"] if step["index"] in items]
    if not shown:
        return None
    kept, total = _fit(shown, items, marks)
    first, item = kept[0], items[kept[0]["index"]]
    dur = item["end_ns"] - item["start_ns"] or 1
    lanes = [(row["label"], row["kind"]) for row in first["rows"]]
    tops, heights = _layout([kind for _, kind in lanes])
    css = [css_of(name)[0] for name in found["classes"]]
    return Picture(
        height=tops[-1] + heights[-1] + 6 if tops else TOP,
        labels=tuple(
            Label(
                units.clean(units.shorten(text, 40)),
                "l58" if kind == "state" else "l28",
                kind == "state",
            )
            for text, kind in lanes
        ),
        paths=_paths(first["rows"], dur, css, tops),
        ticks=_ticks(dur),
        texts=_texts(first["rows"], dur, found["names"], tops),
        legend=_legend(kept, found["classes"]),
        options=tuple(_option(step, items[step["index"]], document) for step in kept),
        note=_note(kept, total),
        step=_option(first, item, document),
        bin=units.duration(dur * _RIBBON // WIDTH),
        data=_embed(found, kept, items, css, tops, heights),
    )


def _option(step: Mapping[str, Any], item: Mapping[str, Any], document: Document) -> str:
    dur = item["end_ns"] - item["start_ns"]
    name = item["number"] if item["number"] is not None else item["index"]
    kept = [i["end_ns"] - i["start_ns"] for i in section(document, "steps")["items"] if i["kept"]]
    role = ""
    if len(kept) > 1 and item["kept"]:
        middle = sorted(kept)[(len(kept) - 1) // 2]
        role = "median, " if dur == middle else "slowest, " if dur == max(kept) else ""
    return f"{name}: {role}{units.duration(dur)}" if step else ""


def _layout(kinds: Sequence[str]) -> tuple[list[int], list[int]]:
    tops, heights, y = [], [], TOP
    for kind in kinds:
        tops.append(y)
        heights.append(STATE_ROW if kind == "state" else ROW)
        y += heights[-1]
    return tops, heights


def _paths(
    rows: Sequence[Mapping[str, Any]], dur: int, css: Sequence[str], tops: Sequence[int]
) -> tuple[Path, ...]:
    paths: list[Path] = []
    for coarse in _RESOLUTIONS:
        paths = []
        for row, top in zip(rows, tops, strict=True):
            paths += (
                _ribbon(row, dur, css, top)
                if row["kind"] == "state"
                else _row(row, dur, css, top, coarse)
            )
        if sum(len(path.d) for path in paths) <= _PICTURE_BYTES:
            break
    return tuple(paths)


def _row(row: Mapping[str, Any], dur: int, css: Sequence[str], top: int, coarse: int) -> list[Path]:
    """Draw marks of at least one unit as they are; pile shorter ones up per unit, lower."""
    full, base = ROW - 12, top + ROW - 2
    unit = dur * coarse / WIDTH
    drawn: dict[int, list[str]] = {}
    piles: dict[int, dict[int, float]] = {}
    for start, length, kind, _name, _n, share in row["marks"]:
        if length >= unit:
            x = round(start / dur * WIDTH)
            width = max(1, round((start + length) / dur * WIDTH) - x)
            height = max(1, round(full * share))
            drawn.setdefault(int(kind), []).append(_box(x, base - height, width, height))
        else:
            pile = piles.setdefault(int(start / unit), {})
            pile[int(kind)] = pile.get(int(kind), 0.0) + length * share / unit
    for at, pile in sorted(piles.items()):
        bottom = base
        for kind, covered in sorted(pile.items()):
            height = min(bottom - base + full, max(1, round(full * min(1.0, covered))))
            if height > 0:
                bottom -= height
                drawn.setdefault(kind, []).append(_box(at * coarse, bottom, coarse, height))
    return [Path(css[kind], "".join(boxes)) for kind, boxes in sorted(drawn.items())]


def _ribbon(row: Mapping[str, Any], dur: int, css: Sequence[str], top: int) -> list[Path]:
    """Draw the share of each bucket per 5 px, compute at the bottom."""
    full, base = STATE_ROW - 12, top + STATE_ROW - 2
    bins = WIDTH // _RIBBON
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
        for kind in sorted(shares):
            height = full * shares[kind] / total if total else 0
            if height >= 0.05:  # noqa: PLR2004 - a twentieth of a pixel is not seen
                y -= height
                drawn.setdefault(kind, []).append(
                    f"M{at * _RIBBON} {y:.1f}h{_RIBBON}v{height:.1f}h-{_RIBBON}z"
                )
    return [Path(css[kind], "".join(boxes)) for kind, boxes in sorted(drawn.items())]


def _box(x: int, y: int, width: int, height: int) -> str:
    return f"M{x} {y}h{width}v{height}h-{width}z"


def _ticks(dur: int) -> tuple[Text, ...]:
    rough = dur / 9
    power = 10 ** max(0, len(str(int(rough))) - 1)
    step = next(power * k for k in (1, 2, 5, 10) if power * k >= rough)
    return tuple(
        Text(percent(at / dur), 13, units.duration(at))
        for at in range(0, dur, step)
        if at < 0.97 * dur
    )


def _texts(
    rows: Sequence[Mapping[str, Any]], dur: int, names: Sequence[str], tops: Sequence[int]
) -> tuple[Text, ...]:
    return tuple(
        Text(percent(mark[0] / dur), top + 22, units.clean(names[int(mark[3])])[:24])
        for row, top in zip(rows, tops, strict=True)
        if row["kind"] == "nvtx"
        for mark in row["marks"]
        if mark[1] >= dur * max(_MIN_TEXT_SHARE, 0.0075 * len(names[int(mark[3])][:24]))
        and mark[3] >= 0
    )


def _legend(
    steps: Sequence[Mapping[str, Any]], classes: Sequence[str]
) -> tuple[tuple[str, str, str], ...]:
    used = {int(mark[2]) for step in steps for row in step["rows"] for mark in row["marks"]}
    seen: dict[str, tuple[str, str, str]] = {}
    for position in sorted(used):
        css, text = css_of(classes[position])
        letter = IDLE_CAUSE[classes[position]].letter if classes[position] in IDLE_CAUSE else ""
        seen.setdefault(css, (css, text, letter))
    return tuple(seen.values())


def _count(step: Mapping[str, Any]) -> int:
    return sum(len(row["marks"]) for row in step["rows"])


def _note(steps: Sequence[Mapping[str, Any]], total: int) -> str:
    first = steps[0]
    ops = sum(int(mark[4]) for row in first["rows"] for mark in row["marks"])
    note = f"{units.count(ops)} intervals in {units.count(_count(first))} marks"
    if first["merged"]:
        note += f"; {units.count(first['merged'])} shorter than {units.duration(first['bin_ns'])} are merged"
    if len(steps) < total:
        note += f"; {total - len(steps)} more steps left out to keep the page small"
    return note


def _fit(
    steps: Sequence[Mapping[str, Any]], items: Mapping[int, Mapping[str, Any]], marks: int
) -> tuple[list[Mapping[str, Any]], int]:
    """Keep steps while marks remain; the first is thinned rather than left out."""
    kept: list[Mapping[str, Any]] = []
    for step in steps:
        item = items[step["index"]]
        thin = _thin(step, item["end_ns"] - item["start_ns"] or 1, max(200, marks * 3 // 5))
        if kept and _count(thin) > marks:
            break
        kept.append(thin)
        marks -= _count(thin)
    return kept, len(steps)


def _thin(step: Mapping[str, Any], dur: int, limit: int) -> Mapping[str, Any]:
    """Merge ever longer marks until at most ``limit`` remain (or nothing is left to merge)."""
    bins, merged = WIDTH, step
    while _count(merged) > limit and bins >= 50:  # noqa: PLR2004 - below this no shape is left
        width = max(1, dur // bins)
        rows = [{**row, "marks": _merge(row["marks"], width)} for row in step["rows"]]
        fewer = _count(step) - sum(len(row["marks"]) for row in rows)
        merged = {**step, "rows": rows, "bin_ns": width, "merged": step["merged"] + fewer}
        bins //= 2
    return merged


def _merge(marks: Sequence[Mark], width: int) -> list[Mark]:
    long = [mark for mark in marks if mark[1] >= width]
    piles: dict[tuple[int, int], list[float]] = {}
    for start, length, kind, name, n, share in marks:
        if length < width:
            pile = piles.setdefault((int(start // width), int(kind)), [0.0, 0, name])
            pile[0] += length * share
            pile[1] += n
            pile[2] = name if pile[2] == name else -1
    short = [
        (at * width, width, kind, pile[2], int(pile[1]), round(min(1.0, pile[0] / width), 4))
        for (at, kind), pile in piles.items()
    ]
    return sorted([*(tuple(mark) for mark in long), *short])


def _embed(  # noqa: PLR0913 - the pieces of one JSON block
    found: Mapping[str, Any],
    steps: Sequence[Mapping[str, Any]],
    items: Mapping[int, Mapping[str, Any]],
    css: Sequence[str],
    tops: Sequence[int],
    heights: Sequence[int],
) -> dict[str, Any]:
    used = sorted({int(m[3]) for s in steps for r in s["rows"] for m in r["marks"] if m[3] >= 0})
    place = {name: at for at, name in enumerate(used)}
    return {
        "css": list(css),
        "words": [css_of(name)[1] for name in found["classes"]],
        "names": [units.clean(units.shorten(found["names"][at], NAME_LIMIT)) for at in used],
        "top": list(tops),
        "high": list(heights),
        "width": WIDTH,
        "steps": [_embed_step(step, items[step["index"]], place) for step in steps],
    }


def _embed_step(
    step: Mapping[str, Any], item: Mapping[str, Any], place: Mapping[int, int]
) -> dict[str, Any]:
    dur = item["end_ns"] - item["start_ns"] or 1
    unit = 1 if dur < _FINE_NS else 100
    return {
        "dur": dur / unit,
        "unit": unit,
        "rows": [_embed_row(row, unit, place) for row in step["rows"]],
    }


def _embed_row(row: Mapping[str, Any], unit: int, place: Mapping[int, int]) -> dict[str, Any]:
    """Write columns, starts as differences: about a third of the bytes of rows."""
    marks = row["marks"]
    starts = [round(mark[0] / unit) for mark in marks]
    data: dict[str, Any] = {
        "label": units.clean(units.shorten(row["label"], NAME_LIMIT)),
        "kind": row["kind"],
        "s": [now - before for now, before in zip(starts, [0, *starts], strict=False)],
        "d": [round(mark[1] / unit) for mark in marks],
        "c": [int(mark[2]) for mark in marks],
        "n": [place.get(int(mark[3]), -1) for mark in marks],
    }
    if any(mark[4] != 1 or mark[5] != 1 for mark in marks):
        data["k"] = [int(mark[4]) for mark in marks]
        data["h"] = [round(100 * mark[5]) for mark in marks]
    return data
