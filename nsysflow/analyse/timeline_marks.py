"""The marks of one step of the timeline: gathered and merged in SQL, few enough to draw."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from nsysflow.analyse.windows import Window
from nsysflow.analyse.workspace import Row, Workspace

# Half a pixel of a wide screen.
UNITS = 2200
LONGEST_GAPS = 1_000
LEAST_GAP_NS = 20_000
LONGEST_COLLECTIVES = 2_000

PIECES = (
    "timeline_comm", "timeline_work", "timeline_state", "timeline_idle", "timeline_call",
    "timeline_host_range", "timeline_phase", "timeline_piece",
)  # fmt: skip


@dataclass(frozen=True)
class Drawn:
    """The marks of one step, times from the window's start, and the texts of their names.

    A mark has ``row``, ``class``, ``name``, ``start_ns``, ``dur_ns``, ``n`` and ``covered_ns``.
    ``collectives`` says which collectives the marks of exposed communication are.
    """

    window: Window
    bin_ns: int
    marks: list[Row]
    texts: dict[int, str]
    collectives: pa.Table


def draw_step(
    work: Workspace, window: Window, main: int, marks: int, most_bin_ns: int | None
) -> Drawn | None:
    """Return at most ``marks`` marks of a step, or None if that takes bins above ``most_bin_ns``.

    Without ``most_bin_ns`` bins grow until the step fits, whatever is left of its shape.
    """
    bin_ns = max(1, window.length_ns // UNITS)
    _gather(work, window, main)
    found = work.table("timeline_mark", from_ns=window.start_ns, bin_ns=bin_ns)
    # In a bin longer than the step a row holds one mark of each class.
    most = 2 * window.length_ns if most_bin_ns is None else most_bin_ns
    while found > marks:
        bin_ns = bin_ns * 3 // 2 + 1
        if bin_ns > most:
            return None
        work.rename("timeline_mark", "timeline_merged")
        work.alias("timeline_unmerged", "timeline_merged")
        found = work.table("timeline_mark", from_ns=window.start_ns, bin_ns=bin_ns)
    texts = {row["name"]: row["text"] for row in work.rows("timeline_text", "stages")}
    drawn = work.rows("timeline_drawn", "stages", from_ns=window.start_ns)
    mine = work.arrow("timeline_collective", from_ns=window.start_ns, step=window.index)
    return Drawn(window, bin_ns, drawn, texts, mine)


def _gather(work: Workspace, window: Window, main: int) -> None:
    params = {
        "from_ns": window.start_ns,
        "to_ns": window.end_ns,
        "step": window.index,
        "least_ns": LEAST_GAP_NS,
        "main": main,
    }
    most = {"timeline_work": LONGEST_COLLECTIVES, "timeline_idle": LONGEST_GAPS}
    work.view("timeline_op", **params)
    for stem in PIECES:
        work.view(stem, most=most.get(stem), **params)
    work.alias("timeline_unmerged", "timeline_piece")
