"""Write the rows of a query: as a table to read, or as CSV, JSON or Parquet to go on with."""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import date, time
from decimal import Decimal
from itertools import chain, count, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nsysflow.console import aligned, plain

# Columns are aligned over so many rows; a million are not held to align them all.
_LOOK_AHEAD = 1000
# Between a day and a clock Arrow writes a space, ISO 8601 a T.
_DAY_CLOCK = re.compile(r"^(-?\d+-\d\d-\d\d) (\d\d:)")
_NAMES = (".csv", ".tsv", ".txt")
_BEGINNINGS = ("PAR1", "[\n{", "[]\n")
# Takes text, says whether anybody still listens.
Sink = Callable[[str], bool]


def write_parquet(reader: pa.RecordBatchReader, path: Path) -> None:
    """Write all rows to a Parquet file."""
    schema = pa.schema(
        [column.with_name(name) for name, column in zip(_names(reader), reader.schema, strict=True)]
    )
    with pq.ParquetWriter(path, schema) as writer:
        for batch in reader:
            writer.write_batch(pa.RecordBatch.from_arrays(batch.columns, schema=schema))


def write_text(reader: pa.RecordBatchReader, form: str, sink: Sink) -> None:
    """Write all rows as table, csv or json, until they end or nobody listens."""
    lines = {"table": _table, "csv": _csv, "json": _json}[form](reader)
    for line in lines:
        if not sink(line):
            return


def write_file(reader: pa.RecordBatchReader, form: str, path: Path) -> None:
    """Write all rows to a file as table, csv or json."""
    with path.open("w", encoding="utf-8", errors="backslashreplace") as file:
        write_text(reader, form, lambda text: file.write(text) >= 0)


def form_of(name: str) -> str:
    """Return the format that a file of this name is taken for by whoever opens it."""
    return next((form for form in ("csv", "json", "parquet") if name.lower().endswith(f".{form}")),
                "table")  # fmt: skip


def is_rows(name: str, head: str) -> bool:
    """Return whether a file of this name that begins so may be one of those written here.

    CSV and tables are any text; there the name decides.
    """
    return not head or head.startswith(_BEGINNINGS) or name.lower().endswith(_NAMES)


def _names(reader: pa.RecordBatchReader) -> list[str]:
    """Return the names of the columns, told apart as DuckDB does: a, a_1, a_2, in any case."""
    taken: set[str] = set()
    names = []
    for name in reader.schema.names:
        choices = chain([name], (f"{name}_{number}" for number in count(1)))
        names.append(next(each for each in choices if each.lower() not in taken))
        taken.add(names[-1].lower())
    return names


def _rows(reader: pa.RecordBatchReader) -> Iterator[list[Any]]:
    for batch in reader:
        for row in zip(*map(_cells, batch.columns), strict=True):
            yield list(row)


def _cells(column: pa.Array) -> list[Any]:
    try:
        return list(column.to_pylist())
    except (ValueError, OverflowError):
        return [_cell(scalar) for scalar in column]


def _cell(scalar: pa.Scalar) -> Any:  # noqa: ANN401, PLR0911 - any cell; a line per type
    """Return a cell that may hold a time which Python has not: of nanoseconds, or infinite."""
    if not scalar.is_valid:
        return None
    if isinstance(scalar, pa.StructScalar):
        return {name: _cell(scalar[name]) for name in scalar}
    if isinstance(scalar, pa.UnionScalar):
        return _cell(scalar.value)
    if isinstance(scalar, pa.MapScalar):
        return [[_cell(part) for part in pair.values()] for pair in scalar.values]
    if isinstance(scalar, pa.ListScalar):
        return [_cell(item) for item in scalar.values]
    try:
        return scalar.as_py()
    except (ValueError, OverflowError):
        return _far(scalar) or _DAY_CLOCK.sub(r"\1T\2", scalar.cast(pa.string()).as_py())


def _far(scalar: pa.Scalar) -> str | None:
    """Return a date or time beyond the years that Arrow writes, as DuckDB names the infinite."""
    whole = pa.int32() if pa.types.is_date32(scalar.type) else pa.int64()
    number = scalar.cast(whole).as_py()
    most = 2 ** (whole.bit_width - 1) - 1
    return {most: "infinity", -most: "-infinity"}.get(number)


def _table(reader: pa.RecordBatchReader) -> Iterator[str]:
    if reader.schema.names == ["explain_key", "explain_value"]:
        # A plan is a drawing over several lines, not a cell.
        for _, plan in _rows(reader):
            yield from _lines([plain(line) for line in str(plan).splitlines()])
        return
    rows = ([_text(value) for value in row] for row in _rows(reader))
    yield from _lines(aligned(_names(reader), islice(rows, _LOOK_AHEAD)))
    while some := list(islice(rows, _LOOK_AHEAD)):
        yield from _lines(aligned(_names(reader), some)[1:])


def _lines(lines: list[str]) -> Iterator[str]:
    return (line + "\n" for line in lines)


def _csv(reader: pa.RecordBatchReader) -> Iterator[str]:
    pieces: list[str] = []

    class _Pieces:
        def write(self, text: str) -> int:
            pieces.append(text)
            return len(text)

    writer = csv.writer(_Pieces(), lineterminator="\n")
    for row in chain([_names(reader)], _rows(reader)):
        writer.writerow(["" if value is None else _text(value) for value in row])
        yield "".join(pieces)
        pieces.clear()


def _json(reader: pa.RecordBatchReader) -> Iterator[str]:
    names = _names(reader)
    lead = "["
    for row in _rows(reader):
        item = {name: _value(value) for name, value in zip(names, row, strict=True)}
        yield f"{lead}\n{_dump(item)}"
        lead = ","
    yield "[]\n" if lead == "[" else "\n]\n"


def _dump(value: Any) -> str:  # noqa: ANN401 - any cell or row
    return json.dumps(value, ensure_ascii=False, allow_nan=False, default=str)


def _value(value: Any) -> Any:  # noqa: ANN401, PLR0911 - any cell; a line per type
    """Return a cell as JSON has it: NaN, infinities, bytes, times and intervals have no JSON."""
    if isinstance(value, Decimal):
        # DuckDB's wide sums arrive as decimals.
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, pa.MonthDayNano):
        return _interval(*value)
    if isinstance(value, dict):
        return {name: _value(item) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    return value


def _interval(months: int, days: int, nanoseconds: int) -> str:
    """Write an interval as ISO 8601 does, each part with its own sign: P1M2DT3H4M5.5S."""
    sign, left = ("-" if nanoseconds < 0 else ""), abs(nanoseconds)
    minutes, left = divmod(left, 60 * 1_000_000_000)
    hours, minutes = divmod(minutes, 60)
    seconds = f"{left // 1_000_000_000}.{left % 1_000_000_000:09}".rstrip("0").rstrip(".")
    day = "".join(f"{part}{unit}" for part, unit in ((months, "M"), (days, "D")) if part)
    clock = "".join(f"{sign}{part}{unit}" for part, unit in ((hours, "H"), (minutes, "M")) if part)
    clock += f"{sign}{seconds}S" if left else ""
    return f"P{day}T{clock}" if clock else f"P{day or 'T0S'}"


def _text(value: Any) -> str:  # noqa: ANN401 - any cell
    if isinstance(value, dict | list):
        return _dump(_value(value))
    if isinstance(value, bytes | pa.MonthDayNano):
        return str(_value(value))
    return "" if value is None else str(value)
