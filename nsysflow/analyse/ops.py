"""The device work of one lane as columns, in the order of the store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from nsysflow.analyse.coverage import Coverage, Flags, Ints
from nsysflow.analyse.workspace import Workspace

# Times may be negative: no small number can stand for a missing one.
NEVER = np.iinfo(np.int64).min
KINDS = ("kernel", "memcpy", "memset", "graph")


@dataclass(frozen=True)
class Ops:
    """Every op of a lane: by start, then end, stream, correlation.

    Times in ns. ``long`` are those with a duration: only they cover time. ``is_compute`` are
    kernels that do not communicate, ``is_copy`` copies and memsets that do not.
    """

    start: Ints
    end: Ints
    is_compute: Flags
    is_graph: Flags
    is_copy: Flags
    comm: Flags

    @classmethod
    def read(cls, work: Workspace) -> Ops:
        """Read what level 1 needs: 20 bytes an op."""
        columns: dict[str, Any] = dict(read(work, "op_state"))
        return cls(*columns.values())

    def __len__(self) -> int:
        """Return how many ops there are."""
        return len(self.start)

    @property
    def long(self) -> Flags:
        """Which ops have a duration."""
        found: Flags = self.end > self.start
        return found

    def coverage(self, some: Flags | None = None) -> Coverage:
        """Return the union of all ops, or of some."""
        mine = self.long if some is None else self.long & some
        return Coverage.of(self.start[mine], self.end[mine])


def read(work: Workspace, stem: str, **params: int) -> dict[str, Ints]:
    """Return the columns of a stage as arrays; a missing integer is ``NEVER``."""
    table = work.arrow(stem, "stages", **params)
    return {name: _array(table[name]) for name in table.column_names}


def _array(column: pa.ChunkedArray) -> Ints:
    if pa.types.is_boolean(column.type):
        found: Ints = column.to_numpy()
    else:
        found = column.fill_null(NEVER).to_numpy()
    return found


def nullable(values: Ints, missing: Flags | None = None) -> pa.Array:
    """Return an Arrow column in which what is missing, else every ``NEVER``, is NULL."""
    return pa.array(values, mask=values == NEVER if missing is None else missing)


def codes(*columns: Ints) -> Ints:
    """Number the distinct combinations of columns: equal numbers, equal rows."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        encoded = pa.array(column).dictionary_encode()
        code = code * max(1, len(encoded.dictionary)) + encoded.indices.to_numpy()
    return code
