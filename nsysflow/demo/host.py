"""The host of the ranks of one stage: one thread at a time, its CUDA calls and its ranges.

All ranks run the same program, so every time is an array of shape (ranks,) in true nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nsysflow.demo.record import ABSENT, MAIN, Record, Words

if TYPE_CHECKING:
    from numpy.random import Generator as Random

    from nsysflow.demo.record import Times

DEFAULT_DOMAIN, NCCL_DOMAIN = 0, 1


@dataclass
class Host:
    """Where the host of every rank is: ``now``, true ns, shape (ranks,)."""

    stage: int
    stages: int
    ranks: int
    replicas: int
    random: Random
    words: Words
    started_ns: int
    record: Record = field(init=False)
    now: Times = field(init=False)
    thread: int = MAIN
    correlation: int = 0
    operation: int = 0
    sequence: int = 0

    def __post_init__(self) -> None:
        """Start every rank at the same instant."""
        self.record = Record(self.ranks)
        self.now = np.full(self.ranks, self.started_ns, dtype=np.int64)

    def python(self, ns: int | Times) -> None:
        """Let the host do something of its own."""
        self.now = self.now + self.jitter(ns)

    def call(self, api: str, ns: int | Times) -> tuple[Times, Times]:
        """Make one CUDA call that starts no device work; return its span."""
        start = self.now + 300
        end = start + self.jitter(ns)
        self.record.one(
            "call", (start, end), api=self.words(api), thread=self.thread,
            correlation=self.next_correlation(),
        )  # fmt: skip
        self.now = end + 200
        return start, end

    def range(self, text: str, start: Times, end: Times, **more: int) -> None:
        """Write one range of the current thread."""
        values = {"op": 0, "sequence": 0, "domain": DEFAULT_DOMAIN, "payload": -1, **more}
        self.record.one("nvtx", (start, end), text=self.words(text), thread=self.thread, **values)

    def operation_range(self, text: str, start: Times, end: Times) -> None:
        """Write one framework range as emit_nvtx does."""
        self.operation += 1
        self.range(text, start, end, op=self.operation)

    def label(self, name: str, start: Times, end: Times) -> None:
        """Remember for the truth what the host was doing."""
        self.record.one("label", (start, end), label=self.words(name))

    def next_correlation(self) -> int:
        """Return the next correlation id, relative to the process's first."""
        self.correlation += 1
        return self.correlation

    def jitter(self, ns: int | Times) -> Times:
        """Return ``ns`` give or take 8 %, for each rank."""
        factor = 0.92 + 0.16 * self.random.random(self.ranks)
        return np.asarray(ns * factor).astype(np.int64)


def absent_unless(wanted: Times, times: Times) -> Times:
    """Return ``times`` where ``wanted`` is positive, else the mark of an absent row."""
    return np.where(wanted > 0, times, ABSENT)
