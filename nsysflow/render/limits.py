"""How much of a document a page takes."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """One set of limits: table rows, timeline marks, characters of a name, and what to say."""

    rows: int
    marks: int
    name: int
    note: str = ""


# Marks give way first, then names, then rows; findings and states never do.
LIMITS = (
    Limits(200, 30_000, 512),
    Limits(200, 4_000, 512, "timeline cut to 4,000 marks to keep the page small"),
    Limits(200, 2_000, 160, "timeline and long names cut to keep the page small"),
    Limits(60, 1_000, 160, "timeline, long names and table rows cut to keep the page small"),
    Limits(20, 500, 80, "timeline, long names and most table rows cut to keep the page small"),
)
