"""The GPUs of one stage: launch queue and streams.

Nothing here knows how a trace is analysed.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nsysflow.demo.host import DEFAULT_DOMAIN, Host
from nsysflow.demo.record import AUTOGRAD, MAIN

if TYPE_CHECKING:
    from nsysflow.demo.program import Batch
    from nsysflow.demo.record import Times

LAUNCH_LATENCY_NS = 4_500
KERNEL_GAP_NS = 1_000
EVENT_NS = 1_500  # from the end of the awaited work to the start of what waited
QUEUE_DEPTH = 1_000
SYNC_RETURN_NS = 6_000
STREAMS = {
    "compute": 7,
    "fsdp": 15,
    "dp": 15,
    "scatter": 19,
    "tp": 23,
    "pp_next": 27,
    "pp_previous": 31,
    "world": 35,
}
PAGEABLE, PINNED, DEVICE = 0, 1, 2  # kinds of memory
NO_ID = 4_294_967_295
RANGE_BEFORE_NS = (900, 1_500, 2_100)  # by level, so that ranges nest strictly
RANGE_AFTER_NS = (500, 900, 1_300)


@dataclass
class Device(Host):
    """Adds what the GPU does: for each stream when it is free and what it still waits for."""

    slow: np.ndarray = field(init=False)
    streams: dict[str, Times] = field(default_factory=dict)
    ready: dict[str, Times] = field(default_factory=dict)
    queue: deque[tuple[int, Times]] = field(default_factory=deque)
    issued: int = 0
    op_words: dict[Batch, Times] = field(default_factory=dict)
    spans: dict[Batch, Times] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with empty streams."""
        super().__post_init__()
        self.slow = np.ones(self.ranks)
        for name in STREAMS:
            self.streams[name] = self.now.copy()
            self.ready[name] = self.now.copy()

    def kernels(self, batch: Batch) -> None:
        """Launch a batch on the compute stream."""
        shape = (self.ranks, batch.size)
        gap = (batch.gap_ns * (0.9 + 0.4 * self.random.random(shape))).astype(np.int64)
        call = (3_000 + 900 * self.random.random(shape)).astype(np.int64)
        call_end = self.now[:, None] + np.cumsum(gap + call, axis=1)
        call_start = call_end - call
        arrive = call_start + LAUNCH_LATENCY_NS
        room = self._queue_room(batch.size)
        if room is not None:
            wait = np.maximum(room - call_end[:, 0], 0)[:, None]
            call_end += wait
            call_start[:, 1:] += wait
            arrive += wait
        noise = 1.0 + 0.06 * (self.random.random(shape) - 0.5)
        duration = (batch.base_ns * noise * self.slow[:, None]).astype(np.int64)
        start = self._line_up(arrive, duration)
        end = start + duration
        self.issued += batch.size
        self.queue.append((self.issued, end[:, -1]))
        self.streams["compute"] = end[:, -1]
        self.now = call_end[:, -1]
        ids = self.correlation + 1 + np.arange(batch.size)
        self.correlation += batch.size
        self.record.many(
            "kernel", (call_start, call_end, start, end), kernel=batch.kernels,
            stream=STREAMS["compute"], thread=self.thread, correlation=ids,
            api=self.words("cudaLaunchKernel_v7000"),
        )  # fmt: skip
        self._ranges(batch, call_start, call_end)
        self.now = self.now + RANGE_AFTER_NS[2]

    def copy(self, kind: int, count: int, ns: int, api: str, kinds: tuple[int, int]) -> Times:
        """Copy or set memory on the compute stream; kind 0 is a memset. Returns device ends."""
        call_start = self.now + 500
        call_end = call_start + self.jitter(8_000)
        start = np.maximum(
            np.maximum(call_start + LAUNCH_LATENCY_NS, self.ready["compute"]),
            self.streams["compute"] + KERNEL_GAP_NS,
        )
        end = start + self.jitter(ns)
        self.streams["compute"] = end
        if PAGEABLE in kinds:
            # An asynchronous copy is none when one side is pageable.
            call_end = np.maximum(call_end, end + SYNC_RETURN_NS)
            self.label("sync", call_start, call_end)
        self.record.one(
            "copy", (call_start, call_end, start, end), kind=kind, bytes=count,
            source=kinds[0], target=kinds[1], stream=STREAMS["compute"], thread=self.thread,
            correlation=self.next_correlation(), api=self.words(api),
        )  # fmt: skip
        self.now = call_end + 200
        return end

    def synchronize(self, device_end: Times) -> tuple[Times, Times]:
        """Block the host until ``device_end``; return the span of the call."""
        start = self.now + 1_200
        end = np.maximum(start + 2_500, device_end + SYNC_RETURN_NS)
        number = self.next_correlation()
        self.record.one(
            "call", (start, end), api=self.words("cudaStreamSynchronize_v3020"),
            thread=self.thread, correlation=number,
        )  # fmt: skip
        self.record.one(
            "sync", (start + 700, end - 800), type=3, stream=STREAMS["compute"], event=NO_ID,
            correlation=number,
        )  # fmt: skip
        self.label("sync", start, end)
        self.now = end + 300
        return start, end

    def wait(self, stream: str, until: Times, event: int = 17) -> None:
        """Make a stream wait for work of another; the host does not block."""
        start, end = self.call("cudaStreamWaitEvent_v3020", 900)
        self.record.one(
            "sync", (start + 200, end - 200), type=2, stream=STREAMS[stream], event=event,
            correlation=self.correlation,
        )  # fmt: skip
        self.ready[stream] = np.maximum(self.ready[stream], until + EVENT_NS)

    def _queue_room(self, count: int) -> Times | None:
        """Return when the launch queue has room for ``count`` more, None if it has now."""
        room = None
        while self.queue and self.queue[0][0] <= self.issued + count - QUEUE_DEPTH:
            room = self.queue.popleft()[1]
        return room

    def _line_up(self, arrive: Times, duration: Times) -> Times:
        """Return when kernels start that run in order: each on arrival and after the one before."""
        length = duration + KERNEL_GAP_NS
        before = np.cumsum(length, axis=1) - length
        arrive = arrive.copy()
        free = np.maximum(self.streams["compute"] + KERNEL_GAP_NS, self.ready["compute"])
        arrive[:, 0] = np.maximum(arrive[:, 0], free)
        start: Times = np.maximum.accumulate(arrive - before, axis=1) + before
        return start

    def _ranges(self, batch: Batch, call_start: Times, call_end: Times) -> None:
        self._text_ranges(batch, call_start, call_end)
        spans = self._span_words(batch)
        if spans is None:
            return
        text, first, last, level = spans
        count = len(text)
        numbers: int | Times = 0
        if self.thread == AUTOGRAD:
            numbers = self.operation + 1 + np.arange(count)
            self.operation += count
        start = call_start[:, first] - np.array(RANGE_BEFORE_NS)[level]
        end = call_end[:, last] + np.array(RANGE_AFTER_NS)[level]
        self.record.many(
            "nvtx", (start, end), text=text, op=numbers, sequence=0, thread=self.thread,
            domain=DEFAULT_DOMAIN, payload=-1,
        )  # fmt: skip

    def _text_ranges(self, batch: Batch, call_start: Times, call_end: Times) -> None:
        if batch not in self.op_words:
            self.op_words[batch] = np.array([self.words(op) for op in batch.ops])
        numbers = np.arange(batch.size)
        forward = self.thread == MAIN
        self.record.many(
            "nvtx", (call_start - RANGE_BEFORE_NS[0], call_end + RANGE_AFTER_NS[0]),
            text=self.op_words[batch], op=self.operation + 1 + numbers,
            sequence=self.sequence + 1 + numbers if forward else 0,
            thread=self.thread, domain=DEFAULT_DOMAIN, payload=-1,
        )  # fmt: skip
        self.operation += batch.size
        self.sequence += batch.size

    def _span_words(self, batch: Batch) -> Times | None:
        if not batch.spans:
            return None
        if batch not in self.spans:
            rows = [(self.words(text), *where) for text, *where in batch.spans]
            self.spans[batch] = np.array(rows).T
        return self.spans[batch]
