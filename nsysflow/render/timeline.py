"""The timeline of a few steps: a static picture, and the data that zooming needs.

A rank document carries it as::

    timeline  {status, t0_ns, classes:[text], names:[text], note:text|null, steps:[step]}
              note: which steps are not there, and why.
    step      {index, bin_ns, merged, rows:[row]}
              index: that of steps.items; its window gives start and length.
              bin_ns: marks shorter than this may be merged; merged: how many ops were.
    row       {label, kind, marks:[mark]}     top to bottom as they shall be drawn, at most 14
              kind: nvtx | state | stream | copies | idle | host
    mark      [start_ns, dur_ns, class, name, n, share]      sorted by their numbers
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

from nsysflow.render import timeline_drawing, units
from nsysflow.render.sections import WHOLE, Document, section, state, unit
from nsysflow.render.timeline_drawing import FEW, Path, Text
from nsysflow.render.timeline_marks import WIDTH, Step, count_marks, css_of, embed, fit, window_ns
from nsysflow.render.words import IDLE_CAUSE, LETTER_WORD


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
    more: str
    step: str
    bin: str
    data: Mapping[str, Any]


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
    kept = fit(shown, items, marks)
    first, item = kept[0], items[kept[0]["index"]]
    dur = window_ns(item)
    lanes = [(row["label"], row["kind"]) for row in first["rows"]]
    tops, heights = timeline_drawing.layout([kind for _, kind in lanes])
    css = [css_of(name)[0] for name in found["classes"]]
    notes = [_note(step, _option(items[step["index"]], document)) for step in kept]
    return Picture(
        height=tops[-1] + heights[-1] + 6 if tops else timeline_drawing.TOP,
        labels=tuple(
            Label(
                units.clean(units.shorten(text, 40)),
                "l58" if kind == "state" else "l28",
                kind == "state",
            )
            for text, kind in lanes
        ),
        paths=timeline_drawing.paths(first["rows"], dur, css, tops),
        ticks=timeline_drawing.ticks(dur),
        texts=timeline_drawing.texts(first["rows"], dur, found["names"], tops),
        legend=_legend(kept, found["classes"]),
        options=tuple(_option(items[step["index"]], document) for step in kept),
        note=notes[0],
        more=_more(len(shown) - len(kept), found.get("note")),
        step=_option(item, document),
        bin=units.duration(dur * timeline_drawing.RIBBON // WIDTH),
        data={**embed(found, kept, items, notes), "top": tops, "high": heights, "few": FEW},
    )


def _option(item: Mapping[str, Any], document: Document) -> str:
    dur = item["end_ns"] - item["start_ns"]
    whole = WHOLE.get(unit(section(document, "steps")))
    if whole is not None:
        return f"{whole.capitalize()}: {units.duration(dur)}"
    name = item["number"] if item["number"] is not None else item["index"]
    kept = [i["end_ns"] - i["start_ns"] for i in section(document, "steps")["items"] if i["kept"]]
    role = ""
    if len(kept) > 1 and item["kept"]:
        role = _role(item, document, kept)
    return f"Step {name}: {role}{units.duration(dur)}"


def _role(item: Mapping[str, Any], document: Document, kept: Sequence[int]) -> str:
    """Say why a step is shown."""
    dur = item["end_ns"] - item["start_ns"]
    places = [i["index"] for i in section(document, "steps")["items"] if i["kept"]]
    told = (
        ("median", dur == sorted(kept)[(len(kept) - 1) // 2]),
        ("slowest", dur == max(kept)),
        ("first", item["index"] == places[0]),
        ("last", item["index"] == places[-1]),
    )
    return "".join(f"{word}, " for word, holds in told if holds)


def _legend(steps: Sequence[Step], classes: Sequence[str]) -> tuple[tuple[str, str, str], ...]:
    """Name every fill once, with all that it stands for in the picture."""
    used = {int(mark[2]) for step in steps for row in step["rows"] for mark in row["marks"]}
    names: dict[str, list[str]] = {}
    letters: dict[str, str] = {}
    for position in sorted(used):
        css, text = css_of(classes[position])
        names.setdefault(css, []).append(text)
        if classes[position] in IDLE_CAUSE:
            letters[css] = IDLE_CAUSE[classes[position]].letter
    return tuple(
        (css, _one_name(found, letters.get(css)), letters.get(css, ""))
        for css, found in names.items()
    )


def _one_name(names: Sequence[str], letter: str | None) -> str:
    """Join what shares a fill; causes of idle time that do have a word for all of them."""
    if letter and len(names) > 1:
        return LETTER_WORD[letter]
    # "graph" says no more than "graph, not split".
    longest = [name for name in names if not any(n != name and n.startswith(name) for n in names)]
    return " · ".join(dict.fromkeys(longest))


def _note(step: Step, name: str) -> str:
    """Say what of a step is drawn as it is, and what is merged."""
    ops = sum(int(mark[4]) for row in step["rows"] for mark in row["marks"])
    if not step["merged"]:
        return f"{name}. All {units.count(ops)} intervals are drawn."
    return (
        f"{name}. {units.count(ops)} intervals in {units.count(count_marks(step))} marks: "
        f"{units.count(step['merged'])} shorter than {units.duration(step['bin_ns'])} are merged."
    )


def _more(left_out: int, note: str | None) -> str:
    """Say which steps are not there."""
    parts = [f"{units.some(left_out, 'more step')} left out to keep the page small"]
    return "; ".join((parts if left_out else []) + ([units.clean(note)] if note else []))
