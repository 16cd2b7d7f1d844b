"""Write the rows of a query: as a table to read, or as CSV, JSON or Parquet to go on with."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from nsysflow.console import aligned, plain

# Columns are aligned over so many rows; a million are not held to align them all.
_LOOK_AHEAD = 1000
# Takes text, says whether anybody still listens.
Sink = Callable[[str], bool]


def write_parquet(reader: pa.RecordBatchReader, path: Path) -> None:
    """Write all rows to a Parquet file."""
    with pq.ParquetWriter(path, reader.schema) as writer:
        for batch in reader:
            writer.write_batch(batch)


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


def _rows(reader: pa.RecordBatchReader) -> Iterator[list[Any]]:
    for batch in reader:
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield list(row)


def _table(reader: pa.RecordBatchReader) -> Iterator[str]:
    if reader.schema.names == ["explain_key", "explain_value"]:
        # A plan is a drawing over several lines, not a cell.
        for _, plan in _rows(reader):
            yield from _lines([plain(line) for line in str(plan).splitlines()])
        return
    rows = ([_text(value) for value in row] for row in _rows(reader))
    yield from _lines(aligned(reader.schema.names, islice(rows, _LOOK_AHEAD)))
    while some := list(islice(rows, _LOOK_AHEAD)):
        yield from _lines(aligned(reader.schema.names, some)[1:])


def _lines(lines: list[str]) -> Iterator[str]:
    return (line + "\n" for line in lines)


def _csv(reader: pa.RecordBatchReader) -> Iterator[str]:
    pieces: list[str] = []

    class _Pieces:
        def write(self, text: str) -> int:
            pieces.append(text)
            return len(text)

    writer = csv.writer(_Pieces(), lineterminator="\n")
    for row in chain([reader.schema.names], _rows(reader)):
        writer.writerow(["" if value is None else _text(value) for value in row])
        yield "".join(pieces)
        pieces.clear()


def _json(reader: pa.RecordBatchReader) -> Iterator[str]:
    names = reader.schema.names
    lead = "["
    for row in _rows(reader):
        item = {name: _value(value) for name, value in zip(names, row, strict=True)}
        yield f"{lead}\n{json.dumps(item, ensure_ascii=False, default=str)}"
        lead = ","
    yield "[]\n" if lead == "[" else "\n]\n"


def _value(value: Any) -> Any:  # noqa: ANN401 - any cell
    """Return a cell as JSON has it: DuckDB's wide sums arrive as decimals, NaN has no JSON."""
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - the test for NaN
        return None
    return value


def _text(value: Any) -> str:  # noqa: ANN401 - any cell
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False, default=str)
    return "" if value is None else str(value)
