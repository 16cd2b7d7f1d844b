"""The marks of a timeline: their classes, how they are merged to fit, how they are embedded."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.model import BUCKETS, IDLE_CAUSES
from nsysflow.render import units
from nsysflow.render.words import BUCKET, IDLE_CAUSE, plain

# One unit is half a pixel of a wide screen; nothing finer is drawn of a whole step.
WIDTH = 2200
# Merging stops here: with fewer bins no shape of the step is left.
_FEWEST_BINS = 50
_FINE_NS = 10_000_000
_NAME_LIMIT = 160

Step = Mapping[str, Any]
Mark = Sequence[float]

_CSS = {
    "tensor": ("compute", "matrix kernel"),
    "kernel": ("c-nontensor", "other kernel"),
    "graph": ("graph", "graph"),
    "hidden": ("overlap", "comm, mostly hidden"),
    "transfer": ("comm", "comm, transfer"),
    "wait": ("x-wait", "comm, waiting for other ranks"),
    "host_late": ("x-late", "comm, host late as well"),
    "unsplit": ("x-unsplit", "comm, wait or transfer not known"),
    "bubble": ("x-bubble", "pipeline bubble"),
    "comm": ("comm", "communication"),
    "copy": ("mem", "copy"),
    "launch": ("h-launch", "launch call"),
    "blocking": ("h-sync", "blocking call"),
    "call": ("h-launch", "other call"),
    "range": ("h-range", "range"),
}
CLASSES = (*_CSS, *BUCKETS, *IDLE_CAUSES)


def css_of(name: str) -> tuple[str, str]:
    """Return the fill and the legend text of a class name."""
    if name in _CSS:
        return _CSS[name]
    if name in BUCKET:
        return BUCKET[name].css, BUCKET[name].label.lower()
    if name in IDLE_CAUSE:
        return IDLE_CAUSE[name].css, IDLE_CAUSE[name].label
    return "nr", plain(name)


def window_ns(item: Mapping[str, Any]) -> int:
    """Return the length of a step's window, at least 1 so that it can divide."""
    return max(1, int(item["end_ns"] - item["start_ns"]))


def count_marks(step: Step) -> int:
    """Return how many marks a step holds over all its rows."""
    return sum(len(row["marks"]) for row in step["rows"])


def fit(steps: Sequence[Step], items: Mapping[int, Mapping[str, Any]], marks: int) -> list[Step]:
    """Keep steps while marks remain; the first is thinned rather than left out."""
    if sum(count_marks(step) for step in steps) <= marks:
        return list(steps)
    kept: list[Step] = []
    for step in steps:
        fewer = thin(step, window_ns(items[step["index"]]), max(200, marks * 3 // 5))
        if kept and count_marks(fewer) > marks:
            break
        kept.append(fewer)
        marks -= count_marks(fewer)
    return kept


def thin(step: Mapping[str, Any], dur: int, limit: int) -> Mapping[str, Any]:
    """Merge ever longer marks until at most ``limit`` remain (or nothing is left to merge)."""
    bins, merged = WIDTH, step
    while count_marks(merged) > limit and bins >= _FEWEST_BINS:
        width = max(1, dur // bins)
        rows = [{**row, "marks": _merge(row["marks"], width)} for row in step["rows"]]
        fewer = count_marks(step) - sum(len(row["marks"]) for row in rows)
        merged = {**step, "rows": rows, "bin_ns": width, "merged": step["merged"] + fewer}
        bins //= 2
    return merged


def _merge(marks: Sequence[Mark], width: int) -> Sequence[Mark]:
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


def embed(
    found: Mapping[str, Any],
    steps: Sequence[Step],
    items: Mapping[int, Mapping[str, Any]],
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return what the script needs of the marks: fills, words, names, and columns per row."""
    used = sorted({int(m[3]) for s in steps for r in s["rows"] for m in r["marks"] if m[3] >= 0})
    place = {name: at for at, name in enumerate(used)}
    return {
        "css": [css_of(name)[0] for name in found["classes"]],
        "words": [css_of(name)[1] for name in found["classes"]],
        "names": [units.clean(units.shorten(found["names"][at], _NAME_LIMIT)) for at in used],
        "width": WIDTH,
        "steps": [
            {**_embed_step(step, items[step["index"]], place), "note": note}
            for step, note in zip(steps, notes, strict=True)
        ],
    }


def _embed_step(
    step: Mapping[str, Any], item: Mapping[str, Any], place: Mapping[int, int]
) -> dict[str, Any]:
    dur = window_ns(item)
    unit = 1 if dur < _FINE_NS else 100
    return {
        "dur": dur / unit,
        "unit": unit,
        "bin": step["bin_ns"] / unit,
        "rows": [_embed_row(row, unit, place) for row in step["rows"]],
    }


def _embed_row(row: Mapping[str, Any], unit: int, place: Mapping[int, int]) -> dict[str, Any]:
    """Write columns, starts as differences: about a third of the bytes of rows."""
    marks = row["marks"]
    starts = [round(mark[0] / unit) for mark in marks]
    data: dict[str, Any] = {
        "label": units.clean(units.shorten(row["label"], _NAME_LIMIT)),
        "kind": row["kind"],
        "s": [now - before for now, before in zip(starts, [0, *starts], strict=False)],
        "d": [round(mark[1] / unit) for mark in marks],
        "c": [int(mark[2]) for mark in marks],
    }
    names = [place.get(int(mark[3]), -1) for mark in marks]
    if any(name >= 0 for name in names):
        data["n"] = names
    if any(mark[4] != 1 or mark[5] != 1 for mark in marks):
        data["k"] = [int(mark[4]) for mark in marks]
        data["h"] = [round(100 * mark[5]) for mark in marks]
    return data
