"""The timeline of a few steps, as the page draws it: rows of marks, few enough for one file."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from nsysflow.analyse.exposed import keep_islands
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.intervals import Spans
from nsysflow.analyse.timeline_marks import Drawn, draw_step
from nsysflow.analyse.timeline_rows import put_rows
from nsysflow.analyse.timeline_steps import Shown, choose_shown
from nsysflow.analyse.windows import Window
from nsysflow.analyse.workspace import Row, Workspace
from nsysflow.analyses.base import Section
from nsysflow.model import BUCKETS, IDLE_CAUSES, STEP_DROPS

# A mark takes some 20 bytes of the page, which shall stay below 500 kB: a quarter is for them.
MOST_MARKS = 7_000
# Of them the step shown first may take this many.
MOST_FIRST = 4_500
# Marks beside those for a step that the user named.
ASKED_MARKS = 4_500
# Steps named by the user that get as much each; with more the page would not be small.
MOST_ASKED = 4
# With fewer left, no further step is tried.
LEAST_MARKS = 1_000
# A further step is cut into at least so many bins; with fewer it says too little.
FEWEST_BINS = 80
MOST_NAMES = 2_000
MOST_TEXT = 160
# Of a share.
MOST_DIGITS = 17
HALF_NS = 0.5
NEARLY = 1e-7
# Of the numbers in a note.
MOST_LISTED = 10
CLASSES = (
    "tensor", "kernel", "graph", "hidden", "transfer", "wait", "host_late", "unsplit", "bubble",
    "comm", "copy", "launch", "blocking", "call", "range", *BUCKETS, *IDLE_CAUSES,
)  # fmt: skip
COLLECTIVE = {
    "step": "int32",
    "row": "int32",
    "op_no": "int64",
    "start_ns": "int64",
    "dur_ns": "int64",
}
_CLASS = {name: place for place, name in enumerate(CLASSES)}


def section(work: Workspace, facts: Facts, listed: int, named: Sequence[int]) -> Section:
    """Return ``timeline``: the steps worth a look, of the first ``listed``, and those ``named``.

    Leaves ``timeline_collective`` in the workspace: what the job needs to split collectives.
    """
    shown = choose_shown(facts.steps, listed, named)
    if not shown.windows:
        work.put("timeline_collective", [], COLLECTIVE)
        reason = f"no kept step is among the first {listed}"
        return {"status": "not_applicable", "reason": reason}
    lines, main = put_rows(work, facts, shown.windows)
    keep_islands(work, facts.ops, _spans(shown.windows))
    asked = len(set(named)) - len(shown.unknown) - len(shown.dropped)
    drawn, left_out = _draw(work, shown, main, asked)
    work.keep("timeline_collective", pa.concat_tables([each.collectives for each in drawn]))
    names, place = _names(drawn)
    return {
        "status": "ok",
        "t0_ns": shown.windows[0].start_ns,
        "classes": list(CLASSES),
        "names": names,
        "note": _note(shown, left_out),
        "steps": [_step(each, lines, place) for each in drawn],
    }


def _spans(windows: Sequence[Window]) -> Spans:
    by_time = sorted(windows, key=lambda window: window.start_ns)
    times = np.array([[w.start_ns, w.end_ns, w.index] for w in by_time], np.int64)
    return Spans(*times.T)


def _draw(work: Workspace, shown: Shown, main: int, asked: int) -> tuple[list[Drawn], list[Window]]:
    """Draw steps while marks remain; the first, and those asked for, whatever they take."""
    drawn: list[Drawn] = []
    left = MOST_MARKS
    for place, window in enumerate(shown.windows):
        if place <= min(asked, MOST_ASKED):
            made = draw_step(work, window, main, MOST_FIRST, None)
            # Who asks for a step wants it beside the usual ones, not instead.
            left += ASKED_MARKS if place else 0
        elif left < LEAST_MARKS:
            break
        else:
            # The last steps to be asked for get what the others leave, which is not nothing if the
            # others can do with less.
            fair = left // max(1, shown.sharing + 1 - place)
            spared = fair - LEAST_MARKS * (len(shown.windows) - place - 1)
            widest = window.length_ns // FEWEST_BINS
            made = draw_step(work, window, main, max(spared, LEAST_MARKS), widest)
            if made is None and spared < fair:
                made = draw_step(work, window, main, fair, widest)
        if made is None:
            # Those after it matter less; were one to fit, the choice would look arbitrary.
            break
        drawn.append(made)
        left -= len(made.marks)
    return drawn, list(shown.windows[len(drawn) :])


def _names(drawn: Sequence[Drawn]) -> tuple[list[str], dict[str, int]]:
    """Return the texts that marks refer to, those of the most time if there are too many."""
    time: dict[str, int] = {}
    for each in drawn:
        for mark in each.marks:
            if mark["name"] is not None:
                text = _cut(each.texts[mark["name"]])
                time[text] = time.get(text, 0) + mark["dur_ns"]
    most = sorted(time, key=lambda text: (-time[text], text))[:MOST_NAMES]
    names = sorted(most)
    return names, {text: place for place, text in enumerate(names)}


def _cut(text: str) -> str:
    """Cut the middle out of a long text: kernels differ in their heads and in their tails."""
    if len(text) <= MOST_TEXT:
        return text
    head = MOST_TEXT * 2 // 3
    return f"{text[:head]}…{text[head + 1 - MOST_TEXT :]}"


def _step(drawn: Drawn, lines: Sequence[tuple[str, str]], place: dict[str, int]) -> Row:
    marks: list[list[list[float]]] = [[] for _ in lines]
    for mark in drawn.marks:
        text = None if mark["name"] is None else _cut(drawn.texts[mark["name"]])
        marks[mark["row"]].append(
            [
                mark["start_ns"],
                mark["dur_ns"],
                _CLASS[mark["class"]],
                -1 if text is None else place.get(text, -1),
                mark["n"],
                _share(mark["covered_ns"], mark["dur_ns"]),
            ]
        )
    return {
        "index": drawn.window.index,
        "bin_ns": drawn.bin_ns,
        "merged": sum(mark["n"] for mark in drawn.marks if mark["n"] > 1),
        "rows": [
            {"label": label, "kind": kind, "marks": sorted(mine)}
            for (label, kind), mine in zip(lines, marks, strict=True)
        ],
    }


def _share(covered_ns: int, dur_ns: int) -> float | int:
    """Return the covered part, in just so many digits that sums of share times length stay right.

    Rounded to ns the product is the covered time itself, and unrounded it is off by 1e-7 at most.
    """
    if covered_ns >= dur_ns:
        return 1
    share = covered_ns / dur_ns
    for digits in range(2, MOST_DIGITS):
        short = round(share, digits)
        off = abs(short * dur_ns - covered_ns)
        if off < HALF_NS and off <= covered_ns * NEARLY:
            return short
    return share


def _note(shown: Shown, left_out: Sequence[Window]) -> str | None:
    """Say which steps are missing, and why."""
    parts = []
    if shown.unknown:
        parts.append(f"no step has the number {listed([str(n) for n in shown.unknown])}")
    for number, reason in shown.dropped[:MOST_LISTED]:
        parts.append(
            f"step {number} is not shown: it was dropped ({STEP_DROPS.get(reason, reason)})"
        )
    if left_out:
        numbers = [str(w.index if w.number is None else w.number) for w in left_out]
        parts.append(f"steps left out to keep the timeline small: {listed(numbers)}")
    return "; ".join(parts) or None


def listed(numbers: Sequence[str]) -> str:
    """Return the first of them as one text, and how many more there are."""
    more = f" and {len(numbers) - MOST_LISTED} more" if len(numbers) > MOST_LISTED else ""
    return ", ".join(numbers[:MOST_LISTED]) + more
