"""Tables that lie in the order of time in the input, as nsys writes them, are not sorted again."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Mapping
from functools import partial
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nsysflow.convert.work import ROWS_WORTH_FILES, Work
from nsysflow.parquet_files import file_name
from nsysflow.read import Request

_ROW_GROUP = 122_880
# Rows that wait for their row groups, over all files.
_MOST_WAITING = 2_000_000
_STEP = 131_072
# Numbers that grow from row to row; of all else there are few values.
_TIMES = ("start_ns", "end_ns")
_KEYS = ("part", "reader")
_MOST_PARTS = 256
# With more, a lane would open as many files as a sort takes seconds.
_MOST_THREADS = 48
_BEFORE_ALL = np.iinfo(np.int64).min


def save_by_time(work: Work, stem: str, views: Mapping[str, Request]) -> tuple[int, int]:
    """Write ``<stem>`` so that the rows of a thread come by start.

    ``<stem>`` gives two columns more, which are not kept: ``part``, by thread, and ``reader``. A
    large table goes to files by both, in the order in which it is read; parts that are not in the
    order of time are sorted by ``<stem>_sorted``, as a small or unordered table is as a whole.
    Returns the rows written and the rows read from the views.
    """
    (request,) = views.values()
    if not _seems_by_time(work, request.table):
        return work.save_sorted(stem, views)
    folder = work.scratch / stem
    parts, read = work.stream(stem, views, partial(_written, folder=folder))
    number = 0
    for files in parts:
        names = [work.store / file_name(stem, number + place) for place in range(len(files))]
        if _in_order(files):
            for file, name in zip(files, names, strict=True):
                # Scratch may lie on another disk.
                shutil.move(file.path, name)
        else:
            work.sort_files(stem, [file.path for file in files], names[0].name)
        number += len(files)
    written = sum(file.rows for files in parts for file in files)
    work.check(stem, written)
    return written, read


def _seems_by_time(work: Work, table: str) -> bool:
    """Return whether a table is large and, as some rows tell, in the order of few threads' time."""
    rows = work.raw.sample(table, ROWS_WORTH_FILES, "start", "globalTid")
    starts = [start for start, _ in rows if isinstance(start, int)]
    threads = {thread for _, thread in rows}
    ordered = all(earlier <= later for earlier, later in pairwise(starts))
    return bool(starts) and ordered and len(threads) <= _MOST_THREADS


class _File:
    """Rows of one part from one reader, as they come."""

    def __init__(self, path: Path, schema: pa.Schema) -> None:
        self.path = path
        self.rows = 0
        self.first = self.last = _BEFORE_ALL
        self.ordered = True
        self.waiting = 0
        self._batches: list[pa.RecordBatch] = []
        few = [name for name in schema.names if name not in _TIMES]
        self._writer = pq.ParquetWriter(
            path,
            schema,
            compression="zstd",
            compression_level=1,
            use_dictionary=few,
            column_encoding=dict.fromkeys(_TIMES, "DELTA_BINARY_PACKED"),
        )

    def add(self, batch: pa.RecordBatch) -> None:
        starts = batch.column("start_ns").to_numpy()
        inside = bool((starts[1:] >= starts[:-1]).all())
        self.ordered &= inside and self.last <= int(starts[0])
        self.first = int(starts[0]) if self.first == _BEFORE_ALL else self.first
        self.last = int(starts[-1])
        self._batches.append(batch)
        self.waiting += len(batch)
        if self.waiting >= _ROW_GROUP:
            self.flush()

    def flush(self) -> None:
        if self._batches:
            table = pa.Table.from_batches(self._batches)
            self._writer.write_table(table, row_group_size=max(_ROW_GROUP, len(table)))
        self.rows += self.waiting
        self._batches, self.waiting = [], 0

    def close(self) -> None:
        self.flush()
        self._writer.close()


def _written(rows: pa.RecordBatchReader, folder: Path) -> list[list[_File]]:
    """Write rows to files by ``part`` and ``reader``; return those of each part by their starts."""
    folder.mkdir(exist_ok=True)
    files: dict[tuple[int, int], _File] = {}
    try:
        _distribute(rows, folder, files)
    finally:
        for file in files.values():
            file.close()
    parts = defaultdict(list)
    for (part, _), file in files.items():
        parts[part].append(file)
    return [sorted(found, key=lambda file: file.first) for found in parts.values()]


def _distribute(
    rows: pa.RecordBatchReader, folder: Path, files: dict[tuple[int, int], _File]
) -> None:
    schema = pa.schema([column for column in rows.schema if column.name not in _KEYS])
    for large in rows:
        for begin in range(0, len(large), _STEP):
            for key, batch in _split(large.slice(begin, _STEP), schema.names):
                if key not in files:
                    part, reader = key
                    files[key] = _File(folder / f"{part}-{reader}.parquet", schema)
                files[key].add(batch)
        while sum(file.waiting for file in files.values()) > _MOST_WAITING:
            max(files.values(), key=lambda file: file.waiting).flush()


def _split(batch: pa.RecordBatch, names: list[str]) -> list[tuple[tuple[int, int], pa.RecordBatch]]:
    """Return the rows of each part and reader, in the order in which they stand.

    Of the columns ``names``.
    """
    parts, readers = (batch.column(name).to_numpy().astype(np.uint32) for name in _KEYS)
    keys = parts + _MOST_PARTS * readers
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    cuts = [0, *(np.flatnonzero(np.diff(keys)) + 1), len(keys)]
    sorted_rows = batch.select(names).take(pa.array(order))
    return [
        ((int(keys[a]) % _MOST_PARTS, int(keys[a]) // _MOST_PARTS), sorted_rows.slice(a, b - a))
        for a, b in pairwise(cuts)
    ]


def _in_order(files: list[_File]) -> bool:
    """Return whether the rows of files, one after the other, come by start."""
    if not all(file.ordered for file in files):
        return False
    return all(earlier.last <= later.first for earlier, later in pairwise(files))
