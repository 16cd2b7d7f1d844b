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
_OFTEN = frozenset({"context", "kind", "launch_start_ns", "launch_thread", "stream"})
_SHORT_LANE = 2_000_000


@dataclass(frozen=True)
class Ops:
    """Every op of a lane: by start, then end, stream, correlation, name.

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
        found: dict[str, Any] = dict(arrays(work.arrow("op_state")))
        return cls(*found.values())

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


def columns(work: Workspace, *names: str) -> dict[str, Ints]:
    """Return columns of ``op_column`` as arrays, one place per op; what is missing is ``NEVER``.

    What is asked for often is kept while the lane is short; all columns of a long one at once would
    be a large part of the memory.
    """
    kept = work.op_columns
    wanted = [name for name in names if name not in kept]
    found = arrays(work.columns("op_column", *wanted)) if wanted else {}
    for name, values in found.items():
        if name in _OFTEN and len(values) <= _SHORT_LANE:
            kept[name] = values
    return {name: found[name] if name in found else kept[name] for name in names}


def column(work: Workspace, name: str) -> Ints:
    """Return one column of ``op_column``."""
    return columns(work, name)[name]


def arrays(table: pa.Table) -> dict[str, Ints]:
    """Return the columns of a table as arrays; a missing integer is ``NEVER``."""
    return {name: _array(table[name]) for name in table.column_names}


def _array(values: pa.ChunkedArray) -> Ints:
    found: Ints = (values.fill_null(NEVER) if values.null_count else values).to_numpy()
    return found


def nullable(values: Ints, missing: Flags | None = None) -> pa.Array:
    """Return an Arrow column in which what is missing, else every ``NEVER``, is NULL."""
    return pa.array(values, mask=values == NEVER if missing is None else missing)


def codes(*keys: Ints) -> Ints:
    """Number the distinct combinations of columns: equal numbers, equal rows."""
    code = np.zeros(len(keys[0]), np.int64)
    for key in keys:
        encoded = pa.array(key).dictionary_encode()
        code = code * max(1, len(encoded.dictionary)) + encoded.indices.to_numpy()
    return code
