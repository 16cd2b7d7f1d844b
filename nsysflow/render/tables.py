"""Tables as the templates draw them: typed columns in, written cells out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from nsysflow.render import units
from nsysflow.render.bars import Segment
from nsysflow.render.words import Word

NUMERIC = frozenset({"ns", "count", "share", "size", "rate", "decimal"})
_FILTER_FROM = 7
_TITLE_FROM = 48


class Of(Enum):
    """What a row is besides its values; no key of a document can be one of these."""

    ID = "id"
    LEVEL = "level"


@dataclass(frozen=True)
class Column:
    """One column. ``key`` is the contract's name, used in CSV.

    ``kind``: text, long (wraps, and wants room), wrap (wraps in little room), name (monospaced,
    cut), mark (a Word), bar (Segments), yesno, or one of NUMERIC. ``per`` divides what is shown
    (not what is sorted and exported). ``null`` is what a cell without a value says; ``quiet``
    where that is an answer ("none") and not a lack. Columns of times with the same ``group`` are
    compared with each other and share their unit.
    """

    key: str
    title: str
    kind: str = "text"
    per: int = 1
    null: str = "not known"
    quiet: bool = False
    wide: bool = False
    group: str = ""

    @property
    def numeric(self) -> bool:
        """Whether the column is right-aligned and sorts by value."""
        return self.kind in NUMERIC


@dataclass(frozen=True)
class Cell:
    """One cell: its text, the bare value behind it, and how it is marked."""

    text: str = ""
    value: str | None = None
    csv: str | None = None
    title: str | None = None
    missing: bool = False
    quiet: bool = False
    css: str | None = None
    letter: str = ""
    href: str | None = None
    bar: tuple[Segment, ...] = ()


@dataclass(frozen=True)
class Row:
    """Cells in column order; ``id`` for links into the row; ``level``: l1, l2 (indented), tot."""

    cells: tuple[Cell, ...]
    id: str | None = None
    level: str = ""


@dataclass(frozen=True)
class Table:
    """A table with its caption above and its note below."""

    id: str
    caption: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    note: str = ""
    filter: bool = False
    csv: bool = True
    empty: str = "Looked, and found none."
    headers: tuple[str, ...] = field(default=())


def build(  # noqa: PLR0913 - a table has that many parts, all named by the caller
    table_id: str,
    caption: str,
    columns: Sequence[Column],
    items: Sequence[Mapping[Any, Any]],
    *,
    note: str = "",
    plain: bool = False,
    one_unit: bool = False,
    empty: str = Table.empty,
) -> Table:
    """Write a table from rows of values under the columns' keys (and ``Of``).

    ``one_unit``: all times have the unit of the last column of times, the sum of the others.
    ``empty`` is said where there are no rows.
    """
    shared = {c.key: _unit([each for each in columns if _alike(each, c)], items) for c in columns}
    if one_unit:
        last = [c for c in columns if c.kind == "ns"][-1]
        shared |= {c.key: shared[last.key] for c in columns if c.kind == "ns"}
    rows = tuple(
        Row(
            tuple(_cell(c, item[c.key], shared[c.key]) for c in columns),
            item.get(Of.ID),
            item.get(Of.LEVEL, ""),
        )
        for item in items
    )
    return Table(
        id=table_id,
        caption=caption,
        columns=tuple(columns),
        rows=rows,
        note=note,
        filter=not plain and len(rows) >= _FILTER_FROM,
        csv=not plain,
        empty=empty,
        headers=tuple(_header(c, shared[c.key]) for c in columns),
    )


def _alike(one: Column, other: Column) -> bool:
    return one.key == other.key or bool(one.group and one.group == other.group)


def _unit(columns: Sequence[Column], items: Sequence[Mapping[Any, Any]]) -> units.Unit | None:
    if columns[0].kind != "ns":
        return None
    values = [(item[column.key], column.per) for column in columns for item in items]
    return units.column_unit([round(v / per) for v, per in values if isinstance(v, (int, float))])


def _header(column: Column, unit: units.Unit | None) -> str:
    return f"{column.title}, {unit.name}" if unit else column.title


def _cell(column: Column, value: object, unit: units.Unit | None) -> Cell:
    if isinstance(value, Cell):
        return value
    if value is None:
        return Cell(
            column.null, value="" if column.numeric else None, missing=True, quiet=column.quiet
        )
    if column.numeric and isinstance(value, int | float):
        return Cell(_number(column, value, unit), value=str(value))
    return _words(column.kind, value)


def _number(column: Column, value: float, unit: units.Unit | None) -> str:
    shown = value / column.per
    if column.kind == "ns":
        if value and not round(shown):
            return f"<0.1{units.NARROW}µs"
        return unit.text(round(shown)) if unit else units.duration(round(shown))
    if column.kind == "count":
        return units.count(int(value)) if column.per == 1 else units.decimal(shown)
    if column.kind == "size":
        return units.size(round(shown))
    return {"share": units.share, "rate": units.rate, "decimal": units.decimal}[column.kind](shown)


def _words(kind: str, value: Any) -> Cell:  # noqa: ANN401 - what the kind says
    if kind == "bar":
        return Cell(bar=tuple(value))
    if kind == "mark":
        word: Word = value
        return Cell(word.label, css=word.css, letter=word.letter)
    if kind == "yesno":
        return Cell("yes" if value else "no")
    return name_cell(str(value)) if kind == "name" else Cell(units.clean(str(value)))


def name_cell(text: str, limit: int = units.NAME_LIMIT) -> Cell:
    """Write a name from the trace; the full text (up to ``limit``) is in the cell for copying."""
    shown = units.shorten(units.clean(text), limit)
    return Cell(shown, title=shown if len(shown) > _TITLE_FROM else None)


def rest_note(shown: int, total: int, what: str) -> str:
    """Say how much of a list the page holds."""
    if shown >= total:
        return f"{units.some(total, what)} in all."
    part = f"{units.count(shown)} of {units.some(total, what)}"
    return f"{part}; the JSON file beside this page may hold more."
