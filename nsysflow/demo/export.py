"""Write one rank's rows into its SQLite export, a step at a time."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nsysflow.demo.kernels import TABLE
from nsysflow.demo.record import THREADS
from nsysflow.demo.schema import create_table

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from nsysflow.demo.record import Rows, Times, Words

CHUNK = 50_000  # rows turned into Python objects at once
VM = 1
CONTEXT = 1
PUSH_POP = 59
DRIVER, RUNTIME, OS_RUNTIME = 1, 0, 27
_LAUNCH = "start end deviceId contextId streamId correlationId globalPid"
_KERNEL = (
    f"{_LAUNCH} demangledName shortName mangledName registersPerThread gridX blockX"
    " dynamicSharedMemory gridId greenContextId launchType cacheConfig gridY gridZ blockY blockZ"
    " staticSharedMemory localMemoryPerThread localMemoryTotal tensorSizeMinusOneElements"
)
_KERNEL_REST = (0, 1, 0, 1, 1, 1, 1, 0, 0, 250_871_808, "[]")


@dataclass
class RankFile:
    """One export: who it is, and the strings it has used."""

    path: Path
    pid: int
    device: int
    first_string: int
    first_correlation: int
    strings: dict[str, int] = field(default_factory=dict)
    pending: list[tuple[int, str]] = field(default_factory=list)
    last_ns: int = 0

    @property
    def process(self) -> int:
        """The packed process id."""
        return VM << 48 | self.pid << 24

    def thread(self, number: int) -> int:
        """The packed id of one of ``record.THREADS``; the main thread has the process's number."""
        return self.process | (self.pid + 17 * number)

    def string(self, text: str) -> int:
        """Return the id of ``text`` in StringIds."""
        if text not in self.strings:
            self.strings[text] = self.first_string + len(self.strings)
            self.pending.append((self.strings[text], text))
        return self.strings[text]

    def insert(self, connection: sqlite3.Connection, table: str, columns: str,
               rows: Iterable[Sequence[Any]]) -> None:  # fmt: skip
        """Write rows of one table, which is made when its first row comes."""
        rows = iter(rows)
        first = next(rows, None)
        if first is None:
            return
        connection.execute(create_table(table))
        names = ", ".join(f'"{name}"' for name in columns.split())
        marks = ", ".join("?" * len(columns.split()))
        statement = f'INSERT INTO "{table}" ({names}) VALUES ({marks})'  # noqa: S608 - our names
        connection.execute(statement, first)
        connection.executemany(statement, rows)

    def flush_strings(self, connection: sqlite3.Connection) -> None:
        """Write the strings first used since the last flush."""
        self.insert(connection, "StringIds", "id value", self.pending)
        self.pending = []


def open_export(path: Path) -> sqlite3.Connection:
    """Open an export for writing; a crash may cost it, nobody waits for the disk."""
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = OFF")
    connection.execute("PRAGMA synchronous = OFF")
    return connection


@dataclass
class StepWriter:
    """Writes the rows of one step of one rank; ``times`` are on the capture's clock."""

    file: RankFile
    connection: sqlite3.Connection
    words: Words

    def kernels(self, rows: Rows, times: Times) -> None:
        """Write kernels and their launch calls."""
        shapes = [self._shape(kernel) for kernel in TABLE]
        # Unlike the ids of strings, those of launches are unique across tables.
        for at in _chunks(rows.count):
            shared = {name: column[at] for name, column in rows.shared.items()}
            ids = (shared["correlation"] + self.file.first_correlation).tolist()
            device = zip(
                times[2, at].tolist(), times[3, at].tolist(), shared["stream"].tolist(), ids,
                shared["kernel"].tolist(), strict=True,
            )  # fmt: skip
            who, process = self.file.device, self.file.process
            self.file.insert(
                self.connection, "CUPTI_ACTIVITY_KIND_KERNEL", _KERNEL,
                ((start, end, who, CONTEXT, stream, number, process, *shapes[kernel],
                  number, *_KERNEL_REST)
                 for start, end, stream, number, kernel in device),
            )  # fmt: skip
            self._calls(times[:2, at], shared, ids)

    def copies(self, rows: Rows, times: Times) -> None:
        """Write copies, memsets and their calls."""
        ids = (rows.shared["correlation"] + self.file.first_correlation).tolist()
        shared = [
            rows.shared[name].tolist() for name in ("stream", "kind", "bytes", "source", "target")
        ]
        who = (self.file.device, CONTEXT), self.file.process
        both = list(zip(times[2].tolist(), times[3].tolist(), ids, *shared, strict=True))
        self.file.insert(
            self.connection, "CUPTI_ACTIVITY_KIND_MEMCPY",
            f"{_LAUNCH} bytes copyKind srcKind dstKind copyCount",
            ((start, end, *who[0], stream, number, who[1], count, kind, source, target, 1)
             for start, end, number, stream, kind, count, source, target in both if kind),
        )  # fmt: skip
        self.file.insert(
            self.connection, "CUPTI_ACTIVITY_KIND_MEMSET", f"{_LAUNCH} value bytes memKind",
            ((start, end, *who[0], stream, number, who[1], 0, count, target)
             for start, end, number, stream, kind, count, _, target in both if not kind),
        )  # fmt: skip
        self._calls(times[:2], rows.shared, ids)

    def calls(self, rows: Rows, times: Times) -> None:
        """Write calls that start no device work."""
        ids = (rows.shared["correlation"] + self.file.first_correlation).tolist()
        self._calls(times, rows.shared, ids)

    def syncs(self, rows: Rows, times: Times) -> None:
        """Write synchronisation records."""
        numbers = [
            rows.shared[name].tolist() for name in ("stream", "correlation", "type", "event")
        ]
        who, process, first = self.file.device, self.file.process, self.file.first_correlation
        self.file.insert(
            self.connection, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
            f"{_LAUNCH} syncType eventId",
            ((start, end, who, CONTEXT, stream, first + number, process, kind, event)
             for start, end, stream, number, kind, event
             in zip(times[0].tolist(), times[1].tolist(), *numbers, strict=True)),
        )  # fmt: skip

    def os_calls(self, rows: Rows, times: Times) -> None:
        """Write operating-system calls."""
        names = [self.file.string(self.words.texts[n]) for n in rows.shared["name"].tolist()]
        threads = [self.file.thread(n) for n in rows.shared["thread"].tolist()]
        both = zip(times[0].tolist(), times[1].tolist(), names, threads, strict=True)
        self.file.insert(
            self.connection, "OSRT_API",
            "start end eventClass globalTid nameId returnValue nestingLevel callchainId",
            ((start, end, OS_RUNTIME, thread, name, 0, 0, 0)
             for start, end, name, thread in both if start >= 0),
        )  # fmt: skip

    def ranges(self, rows: Rows, times: Times, blobs: Sequence[bytes] | None) -> None:
        """Write NVTX ranges: a library's texts are registered, the framework's are not."""
        for at in _chunks(rows.count):
            shared = {name: column[at].tolist() for name, column in rows.shared.items()}
            self.file.insert(
                self.connection, "NVTX_EVENTS",
                "start end eventType text textId globalTid domainId binaryData",
                self._range_rows(shared, times[:, at], blobs),
            )  # fmt: skip

    def _range_rows(self, shared: Mapping[str, list[int]], times: Times,
                    blobs: Sequence[bytes] | None) -> Iterator[tuple[Any, ...]]:  # fmt: skip
        threads = [self.file.thread(number) for number in range(len(THREADS))]
        columns = [
            shared[name] for name in ("text", "op", "sequence", "thread", "domain", "payload")
        ]
        for start, end, word, op, sequence, thread, domain, payload in zip(
            times[0].tolist(), times[1].tolist(), *columns, strict=True
        ):
            if start < 0:
                continue
            text: str | None = self.words.texts[word]
            registered = None
            if domain:
                registered, text = self.file.string(str(text)), None
            elif op:
                text = (
                    f"{text}, seq = {sequence}, op_id = {op}"
                    if sequence
                    else f"{text}, op_id = {op}"
                )
            blob = blobs[payload] if blobs is not None and payload >= 0 else None
            yield start, end, PUSH_POP, text, registered, threads[thread], domain, blob

    def _calls(self, times: Times, shared: Mapping[str, np.ndarray], ids: list[int]) -> None:
        names = {n: self.words.texts[n] for n in set(shared["api"].tolist())}
        known = {n: (self.file.string(name), int(name.startswith("cu") and name[2] != "d"))
                 for n, name in names.items()}  # fmt: skip
        threads = [self.file.thread(number) for number in range(len(THREADS))]
        columns = shared["api"].tolist(), shared["thread"].tolist()
        self.file.insert(
            self.connection, "CUPTI_ACTIVITY_KIND_RUNTIME",
            "start end globalTid correlationId nameId eventClass returnValue",
            ((start, end, threads[thread], number, *known[api], 0)
             for start, end, number, api, thread
             in zip(times[0].tolist(), times[1].tolist(), ids, *columns, strict=True)),
        )  # fmt: skip

    def _shape(self, kernel: Any) -> tuple[int, ...]:  # noqa: ANN401
        name = self.file.string(kernel.name)
        return (
            name, self.file.string(kernel.short), name, kernel.registers, kernel.grid,
            kernel.block, kernel.shared_bytes,
        )  # fmt: skip


def _chunks(count: int) -> Iterator[slice]:
    for start in range(0, count, CHUNK):
        yield slice(start, min(start + CHUNK, count))
