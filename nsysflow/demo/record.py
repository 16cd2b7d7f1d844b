"""What happened, as columns: times per rank, everything else shared by the ranks of a stage."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Times = NDArray[np.int64]

ABSENT = -1  # the time of a row that a rank does not have

MAIN, AUTOGRAD, WATCHDOG, PINNER = range(4)
THREADS = ("python", "pt_autograd_0", "pt_nccl_watchdg", "pt_data_pin")

TABLES: dict[str, tuple[int, tuple[str, ...]]] = {
    "kernel": (4, ("kernel", "stream", "thread", "correlation", "api")),
    "copy": (4, ("kind", "bytes", "source", "target", "stream", "thread", "correlation", "api")),
    "call": (2, ("api", "thread", "correlation")),
    "sync": (2, ("type", "stream", "event", "correlation")),
    "nvtx": (2, ("text", "op", "sequence", "thread", "domain", "payload")),
    "osrt": (2, ("name", "thread")),
    "overhead": (2, ("name", "type", "thread")),
    "label": (2, ("label",)),
}
DEVICE_TABLES = ("kernel", "copy")  # times: call start, call end, device start, device end


@dataclass
class Rows:
    """The rows of one table in one step: times of shape (columns, ranks, rows)."""

    times: Times
    shared: dict[str, NDArray[np.int64]]

    @property
    def count(self) -> int:
        """Rows of each rank, absent ones included."""
        return int(self.times.shape[2])


@dataclass
class Record:
    """Collects the rows of one stage until the step is over; ``take`` empties it."""

    ranks: int
    blocks: dict[str, list[Times]] = field(default_factory=lambda: {name: [] for name in TABLES})
    shared: dict[str, list[NDArray[np.int64]]] = field(
        default_factory=lambda: {name: [] for name in TABLES}
    )

    def one(self, table: str, times: tuple[Times, ...], **values: int) -> None:
        """Add one row per rank; ``times`` have shape (ranks,)."""
        self.many(table, tuple(t[:, None] for t in times), **values)

    def many(self, table: str, times: tuple[Times, ...], **values: int | NDArray[np.int64]) -> None:
        """Add rows; ``times`` have shape (ranks, n), values are numbers or of shape (n,)."""
        block = np.stack(times)
        count = block.shape[2]
        names = TABLES[table][1]
        shared = np.empty((len(names), count), dtype=np.int64)
        for row, name in enumerate(names):
            shared[row] = values[name]
        self.blocks[table].append(block)
        self.shared[table].append(shared)

    def take(self) -> dict[str, Rows]:
        """Return the rows collected since the last call."""
        found = {}
        for table, (columns, names) in TABLES.items():
            blocks = self.blocks[table]
            if blocks:
                times = np.concatenate(blocks, axis=2)
                shared = np.concatenate(self.shared[table], axis=1)
            else:
                times = np.empty((columns, self.ranks, 0), dtype=np.int64)
                shared = np.empty((len(names), 0), dtype=np.int64)
            found[table] = Rows(times, dict(zip(names, shared, strict=True)))
            self.blocks[table], self.shared[table] = [], []
        return found


@dataclass
class Words:
    """Texts by number."""

    texts: list[str] = field(default_factory=list)
    numbers: dict[str, int] = field(default_factory=dict)

    def __call__(self, text: str) -> int:
        """Return the number of ``text``."""
        if text not in self.numbers:
            self.numbers[text] = len(self.texts)
            self.texts.append(text)
        return self.numbers[text]
