"""What a timeline section must hold whatever the trace, and how to read its marks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

Document = dict[str, Any]


@dataclass(frozen=True)
class Mark:
    """One mark; ``start`` on the clock of the capture."""

    start: int
    dur: int
    group: str
    name: str | None
    n: int
    share: float

    @property
    def end(self) -> int:
        """First instant after the mark."""
        return self.start + self.dur

    @property
    def covered(self) -> int:
        """The ns that it covers."""
        return round(self.share * self.dur)


@dataclass(frozen=True)
class Drawn:
    """One step of the section: its item, and the marks of its rows in order."""

    item: Document
    bin_ns: int
    merged: int
    rows: list[tuple[str, str, list[Mark]]]

    def of(self, kind: str) -> list[Mark]:
        """Every mark of the rows of one kind."""
        return [mark for _, found, marks in self.rows if found == kind for mark in marks]

    def row(self, label: str) -> list[Mark]:
        """The marks of one row by its label."""
        (marks,) = [marks for found, _, marks in self.rows if found == label]
        return marks


def drawn_steps(document: Document) -> list[Drawn]:
    """Return the steps of a timeline, names and classes looked up."""
    section = document["timeline"]
    items = {item["index"]: item for item in document["steps"]["items"]}
    found = []
    for step in section["steps"]:
        item = items[step["index"]]
        rows = [
            (row["label"], row["kind"], [_mark(section, item, mark) for mark in row["marks"]])
            for row in step["rows"]
        ]
        found.append(Drawn(item, step["bin_ns"], step["merged"], rows))
    return found


def _mark(section: Document, item: Document, mark: list[Any]) -> Mark:
    name = None if mark[3] < 0 else section["names"][mark[3]]
    group = section["classes"][mark[2]]
    return Mark(item["start_ns"] + mark[0], mark[1], group, name, mark[4], mark[5])


def check_form(document: Document) -> None:
    """Sorted, inside the window, single marks fully covered, rows alike, merging told."""
    section = document["timeline"]
    labels = {
        tuple((row["label"], row["kind"]) for row in step["rows"]) for step in section["steps"]
    }
    assert len(labels) == 1
    assert sum(len(row["marks"]) for step in section["steps"] for row in step["rows"]) <= 12_000
    for step, drawn in zip(section["steps"], drawn_steps(document), strict=True):
        window = drawn.item["end_ns"] - drawn.item["start_ns"]
        assert len(step["rows"]) <= 14
        marks = [mark for row in step["rows"] for mark in row["marks"]]
        assert all(m[0] >= 0 and m[0] + m[1] <= window and 0 <= m[5] <= 1 for m in marks)
        assert all(m[5] == 1 for m in marks if m[4] == 1)
        assert step["merged"] == sum(m[4] for m in marks if m[4] > 1)
        # A bin's marks all begin in it and are shorter than it.
        assert all(m[1] < 2 * step["bin_ns"] for m in marks if m[4] > 1)
        for row in step["rows"]:
            assert row["marks"] == sorted(row["marks"])


def check_states(drawn: Drawn) -> None:
    """The state row adds up to the buckets of its step, to the ns and as plain arithmetic."""
    exact: Counter[str] = Counter()
    plain: Counter[str] = Counter()
    for mark in drawn.of("state"):
        exact[mark.group] += mark.covered
        plain[mark.group] += mark.share * mark.dur  # type: ignore[assignment]
    buckets = {name: ns for name, ns in drawn.item["buckets"].items() if name != "window_ns" and ns}
    assert dict(exact) == buckets
    for name, ns in buckets.items():
        assert abs(plain[name] - ns) <= 1e-6 * ns
