"""The ranks of one stage with their collectives: a machine."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from nsysflow.demo.device import KERNEL_GAP_NS, LAUNCH_LATENCY_NS, STREAMS, Device
from nsysflow.demo.host import NCCL_DOMAIN
from nsysflow.demo.kernels import IDS

if TYPE_CHECKING:
    from collections.abc import Generator

    from nsysflow.demo.record import Times

CALLS = {"all_gather": "ncclAllGather", "reduce_scatter": "ncclReduceScatter"}


@dataclass(frozen=True)
class Collective:
    """What is asked of a communicator: bytes as NCCL's payload counts them."""

    op: str
    kind: str
    bytes: int
    transfer_ns: int
    stream: str
    kernel: str


@dataclass(frozen=True)
class Meeting:
    """A collective of several stages: who must arrive, and how they leave."""

    key: tuple[object, ...]
    parties: int
    arrivals: Times
    transfer_ns: int
    everyone: bool


@dataclass(frozen=True)
class Instance:
    """One collective of a stage: when each rank arrived, the last member did, and all ended."""

    ask: Collective
    arrivals: Times
    last: Times
    ends: Times


@dataclass
class Machine(Device):
    """Adds collectives: each runs from a rank's arrival until the last member has transferred."""

    instances: list[Instance] = field(default_factory=list)
    meetings: dict[str, int] = field(default_factory=dict)
    payloads: list[tuple[str, str, int]] = field(default_factory=list)

    def collective(self, ask: Collective) -> Generator[Meeting, tuple[Times, Times], Times]:
        """Launch one collective on its own stream; return when it ends, per rank."""
        # A parameter gather needs nothing that the compute stream is still working on.
        if ask.op != "all_gather":
            self.call("cudaEventRecord_v3020", 900)
            self.wait(ask.stream, self.streams["compute"])
        call_start, call_end, arrivals = self._launch(ask)
        key, parties = self._meeting(ask.kind)
        if parties:
            together = ask.kind == "world"
            last, ends = yield Meeting(key, parties, arrivals, ask.transfer_ns, together)
        else:
            last = self._last_member(ask.kind, arrivals)
            ends = last + ask.transfer_ns
        self.streams[ask.stream] = ends
        self.record.one(
            "kernel", (call_start, call_end, arrivals, ends), kernel=IDS[ask.kernel],
            stream=STREAMS[ask.stream], thread=self.thread,
            correlation=self.next_correlation(), api=self.words("cuLaunchKernelEx"),
        )  # fmt: skip
        self.instances.append(Instance(ask, arrivals, last, ends))
        return ends

    def _launch(self, ask: Collective) -> tuple[Times, Times, Times]:
        outer = self.now + 1_500
        if ask.kind.startswith("pp"):
            call_start, call_end = self._group_ranges(outer, ask)
        else:
            call_start = outer + 1_900
            call_end = call_start + self.jitter(4_500)
            call = CALLS.get(ask.op, "ncclAllReduce")
            self._nccl_range(call, ask, call_start - 700, call_end + 300)
        self.operation_range(f"c10d::{ask.op}_", outer, call_end + 800)
        self.now = call_end + 1_600
        arrivals = np.maximum(
            np.maximum(call_start + LAUNCH_LATENCY_NS, self.ready[ask.stream]),
            self.streams[ask.stream] + KERNEL_GAP_NS,
        )
        return call_start, call_end, arrivals

    def _group_ranges(self, outer: Times, ask: Collective) -> tuple[Times, Times]:
        self.range("ncclGroupStart", outer + 400, outer + 900, domain=NCCL_DOMAIN)
        self._nccl_range("ncclSend", ask, outer + 1_200, outer + 1_900)
        self._nccl_range("ncclRecv", ask, outer + 2_200, outer + 2_900)
        call_start = outer + 4_000
        call_end = call_start + self.jitter(4_500)
        self.range("ncclGroupEnd", call_start - 700, call_end + 300, domain=NCCL_DOMAIN)
        return call_start, call_end

    def _nccl_range(self, call: str, ask: Collective, start: Times, end: Times) -> None:
        entry = (call, ask.kind, ask.bytes)
        if entry not in self.payloads:
            self.payloads.append(entry)
        self.range(call, start, end, domain=NCCL_DOMAIN, payload=self.payloads.index(entry))

    def _meeting(self, kind: str) -> tuple[tuple[object, ...], int]:
        number = self.meetings.get(kind, 0)
        self.meetings[kind] = number + 1
        if kind == "world":
            return ("world", number), self.stages
        if kind == "pp_next":
            return ("pp", self.stage, number), 2
        if kind == "pp_previous":
            return ("pp", self.stage - 1, number), 2
        return (), 0

    def _last_member(self, kind: str, arrivals: Times) -> Times:
        grid = arrivals.reshape(self.replicas, -1)
        axis = 1 if kind == "tp" else 0
        return np.broadcast_to(grid.max(axis=axis, keepdims=True), grid.shape).reshape(-1)
