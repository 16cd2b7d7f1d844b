"""Read the time of a lane that is no exposed communication: pieces by bucket and cause."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from nsysflow.job.lanes import Ints
from nsysflow.job.table import read_table

Part = tuple[str, str | None]


@dataclass(frozen=True)
class Pieces:
    """A row per piece, by time: ``start`` and ``ns``, and the place in ``parts`` of what it is."""

    start: Ints
    ns: Ints
    part: Ints
    parts: tuple[Part, ...]


def read_pieces(folder: Path) -> Pieces:
    """Return the pieces of the lane whose tables lie in ``folder``."""
    table = read_table(folder / "lane_piece.parquet", ("bucket", "cause"))
    (buckets, bucket), (causes, cause) = (_coded(table[name]) for name in ("bucket", "cause"))
    found, place = np.unique(bucket * len(causes) + cause, return_inverse=True)
    parts: list[Part] = [
        (str(buckets[code // len(causes)]), causes[code % len(causes)]) for code in found.tolist()
    ]
    order = sorted(range(len(parts)), key=lambda k: str(parts[k]))
    number = np.empty(len(parts), np.int64)
    number[order] = np.arange(len(parts))
    start, ns = (table[name].to_numpy() for name in ("start_ns", "ns"))
    return Pieces(start, ns, number[place.reshape(-1)], tuple(parts[k] for k in order))


def _coded(column: pa.ChunkedArray) -> tuple[list[str | None], Ints]:
    """Return the texts of a dictionary column, and which of them each row has."""
    whole = column.unify_dictionaries().combine_chunks()
    texts = [*whole.dictionary.to_pylist(), None]
    codes: Ints = whole.indices.fill_null(len(texts) - 1).to_numpy().astype(np.int64)
    return texts, codes
