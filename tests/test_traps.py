"""Three ways to be wrong: another process, a sum over threads, a length that is not the cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.engine import analysed
from tests.support.export import Export, global_pid, global_tid, us

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Document = dict[str, Any]
NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
TID, HELPER = 500, 501


# Another process that has the same numbers for everything


@dataclass
class Program:
    """A process of steps in which everything happens; every id is the same in every process."""

    export: Export
    pid: int
    device: int
    stretch: int
    made: int = 0
    at: int = us(20)
    names: dict[str, str] = field(default_factory=dict)

    def number(self) -> int:
        """The next correlation id of the process."""
        self.made += 1
        return self.made

    def launch(self, late: int = 0) -> dict[str, Any]:
        """Where work goes, and the call that asks for it."""
        self.at += late
        call = (self.at, self.at + us(2))
        return {"pid": self.pid, "tid": TID, "device": self.device, "launch": call,
                "correlation": self.number()}  # fmt: skip

    def run(self, name: str, length: int, stream: int = 7, late: int = 0) -> None:
        """A kernel."""
        where = self.launch(late) | {"stream": stream}
        start = self.at + us(3)
        self.export.kernel(name, start, start + length * self.stretch, **where)
        self.at = start + length * self.stretch

    def call(self, name: str, length: int) -> None:
        """A CUDA call of the launching thread."""
        self.export.api(name, self.at, self.at + length * self.stretch, pid=self.pid, tid=TID,
                        correlation=self.number(), callchainId=1)  # fmt: skip
        self.at += length * self.stretch

    def range(self, text: str, start: int) -> None:
        """An annotation that ends now."""
        self.export.nvtx(text, start, self.at, pid=self.pid, tid=TID)

    def step(self, number: int) -> None:
        """One step: data, a product, a copy to the host and a wait, a collective, allocations."""
        begin, export, own = self.at, self.export, self.stretch
        self.at += us(20) * own
        self.range("next_batch", begin + us(1))
        copy = self.launch()
        export.memcpy(1, self.at + us(3), self.at + us(9), 4_096 * own, src=1, dst=2, **copy)
        self.at += us(10)
        self.run("gemm" if own == 1 else "void at::native::reduce_kernel<512>", us(30))
        where = self.launch()
        export.memcpy(2, self.at + us(3), self.at + us(5), 4, src=2, dst=1, **where)
        self.at += us(4)
        self.call("cudaStreamSynchronize_v3020", us(10))
        self.run(NCCL, us(15), stream=20)
        self.call("cudaMalloc_v3020", us(12))
        self.run("gemm", us(25), late=us(700))
        self.wait_for_event(number)
        export.os_call("poll", begin + us(1), begin + us(15), pid=self.pid, tid=TID)
        export.overhead("Buffer flush", self.at, self.at + us(6), 3, pid=self.pid, tid=TID)
        self.at += us(8)
        self.range(f"step {number}", begin)

    def wait_for_event(self, number: int) -> None:
        """A stream that waits for an event, and a kernel behind it that begins 60 µs later."""
        pid, export = self.pid, self.export
        record, host = self.number(), self.at - us(10)
        export.api("cudaEventRecord_v3020", host, host + 100, pid=pid, tid=TID,
                   correlation=record)  # fmt: skip
        place = {"contextId": 1, "streamId": 20, "globalPid": global_pid(pid), "eventId": 9}
        export.row(EVENT, timestamp=self.at + us(40) * self.stretch, deviceId=self.device,
                   correlationId=record, eventSyncId=number + 1, **place)  # fmt: skip
        export.sync(2, host + 200, host + 300, 9, pid=pid, tid=TID, device=self.device,
                    launch=(host + 190, host + 310), correlation=self.number(),
                    api="cudaStreamWaitEvent_v3020", more={"eventSyncId": number + 1})  # fmt: skip
        where = {"pid": pid, "tid": TID, "device": self.device, "correlation": self.number(),
                 "launch": (host + 400, host + 500)}  # fmt: skip
        start = self.at + us(60) * self.stretch
        export.kernel("gemm", start, start + us(20), **where)
        self.at = start + us(20)


def program(export: Export, pid: int, device: int, stretch: int) -> None:
    made = Program(export, pid, device, stretch)
    for number in range(6):
        made.step(number)
    thread = global_tid(pid, TID)
    for at, on_cpu in ((us(830), 0), (us(850), 1)):
        export.row("SCHED_EVENTS", start=at * stretch, cpu=0, isSchedIn=on_cpu, threadState=1,
                   threadBlock=0, globalTid=thread)  # fmt: skip
    for number, bytes_ in enumerate((1 << 20, 1 << 21)):
        export.row("CUDA_GPU_MEMORY_USAGE_EVENTS", start=us(number + 1), globalPid=global_pid(pid),
                   deviceId=device, contextId=1, address=4096 * (number + 1),
                   bytes=bytes_ * stretch, memoryOperationType=0, memKind=2)  # fmt: skip
    export.thread(f"pt_data_pin_{stretch}", pid=pid, tid=HELPER)


def shared_tables(export: Export) -> None:
    export.row("ENUM_SAMPLING_THREAD_STATE", id=1, name="Running", label="Running")
    export.row("CUDA_CALLCHAINS", id=1, symbol=export.string("train.py:8"),
               module=export.string("python3"), stackDepth=0)  # fmt: skip


def told(document: Document) -> Document:
    """A lane's document without who it is, and how sure a run of several lanes makes it."""
    kept = {name: part for name, part in document.items() if name not in ("lane", "capture")}
    kept["counts"] = document["capture"]["counts"]
    kept["span"] = document["capture"]["span"]
    kept["findings"] = [{k: v for k, v in f.items() if k != "confidence"}
                        for f in document["findings"]]  # fmt: skip
    return kept


def test_another_process_with_the_same_numbers_changes_nothing(tmp_path: Path) -> None:
    alone, both = Export(), Export()
    for export in (alone, both):
        shared_tables(export)
        program(export, 100, 0, 1)
    program(both, 200, 1, 3)
    (expected,) = analysed(alone, tmp_path / "alone").values()
    found = analysed(both, tmp_path / "both")
    assert set(found) == {(100, 0), (200, 1)}
    idle = {cause for cause, ns in expected["causes"]["idle"].items() if ns}
    # What is compared has to be there.
    assert idle >= {
        "data_loading", "host_sync", "cuda_malloc_free", "dependency_stall", "launch_latency",
    }  # fmt: skip
    assert expected["steps"]["kept"] >= 4
    assert expected["syncs"]["items"][0]["callsite"] == "train.py:8"
    first, second = told(found[(100, 0)]), told(expected)
    for name, part in second.items():
        assert first[name] == part, name


# A sum over threads


WAIT = "cudaStreamSynchronize_v3020"


def gap(threads: int, evidence: Callable[[Export, int], None]) -> Export:
    """The GPU is idle from 100 to 1100 µs; every thread launches once before and is then seen."""
    export = Export()
    for number in range(threads):
        at = us(1) + us(2) * number
        where = {"tid": TID + number, "launch": (at, at + 500), "stream": 7}
        export.kernel("gemm", us(50) + us(1) * number, us(51) + us(1) * number, **where)
        evidence(export, TID + number)
    export.kernel("gemm", us(90), us(100), tid=TID, launch=(us(60), us(61)))
    export.kernel("gemm", us(1_100), us(1_200), tid=TID, launch=(us(1_095), us(1_096)))
    return export


def span(kind: str, name: str, start: int = us(80), end: int = us(1_090)) -> Any:
    def seen(export: Export, thread: int) -> None:
        if kind == "call":
            export.api(name, start, end, tid=thread)
        else:
            export.nvtx(name, start, end, tid=thread)

    return seen


KINDS = [
    ("host_sync", "call", WAIT),
    ("cuda_malloc_free", "call", "cudaMalloc_v3020"),
    ("jit_or_load", "call", "cuModuleLoadData"),
    ("data_loading", "range", "next_batch"),
    ("gc", "range", "gc.collect"),
    ("logging", "range", "wandb"),
    ("checkpoint", "range", "save_checkpoint"),
]


@pytest.mark.parametrize(("cause", "kind", "name"), KINDS, ids=[kind[0] for kind in KINDS])
def test_twenty_threads_do_not_make_twenty_times_the_time(
    cause: str, kind: str, name: str, tmp_path: Path
) -> None:
    (document,) = analysed(gap(20, span(kind, name)), tmp_path).values()
    idle = document["causes"]["idle"]
    # All of them cover the 990 µs that the host is late, and a wait's shadow 5 more: counted once.
    expected = us(995) if cause == "host_sync" else us(990)
    assert idle[cause] == expected
    assert sum(idle.values()) == document["buckets"]["idle"]
    for card in document["findings"]:
        assert (card["bound_ns_per_step"] or 0) <= document["buckets"]["window_ns"]
    if cause == "host_sync":
        assert sum(row["idle_caused_ns"] for row in document["syncs"]["items"]) == expected
    if cause == "data_loading":
        assert document["data_loading"]["per_step_ns"] == us(990)
    assert (
        sum(part["ns"] for part in document["categories"].values())
        == (document["buckets"]["window_ns"])
    )


# A call's length where the idle that it caused is meant


@pytest.mark.parametrize(("cause", "kind", "name"), KINDS, ids=[kind[0] for kind in KINDS])
def test_what_happens_while_the_gpu_works_costs_nothing(
    cause: str, kind: str, name: str, tmp_path: Path
) -> None:
    """Ten milliseconds of it, of which one hundred microseconds fall into the gap."""
    export = Export()
    export.kernel("gemm", us(10), us(20_000), tid=TID, launch=(us(1), us(2)))
    span(kind, name, us(10_100), us(20_100))(export, TID)
    export.kernel("gemm", us(20_800), us(30_000), tid=TID, launch=(us(20_790), us(20_791)))
    (document,) = analysed(export, tmp_path).values()
    idle = document["causes"]["idle"]
    # The wait also explains how the queue ran dry, until the next launch.
    assert idle[cause] == (us(790) if cause == "host_sync" else us(100))
    cards = [f for f in document["findings"] if f["bucket"] == cause]
    assert all(card["bound_ns_per_step"] == idle[cause] for card in cards)
    if cause == "host_sync":
        (row,) = document["syncs"]["items"]
        assert (row["host_ns"], row["idle_caused_ns"]) == (us(10_000), us(790))
    if cause == "data_loading":
        assert document["data_loading"]["per_step_ns"] == us(100)


def test_a_wait_that_ends_before_the_gpu_does_costs_nothing(tmp_path: Path) -> None:
    export = Export()
    export.kernel("gemm", us(10), us(1_000), tid=TID, launch=(us(1), us(2)))
    export.api(WAIT, us(20), us(900), tid=TID)
    export.kernel("gemm", us(1_001), us(1_100), tid=TID, launch=(us(910), us(911)))
    (document,) = analysed(export, tmp_path).values()
    assert document["causes"]["idle"]["host_sync"] == 0
    (row,) = document["syncs"]["items"]
    assert (row["host_ns"], row["idle_caused_ns"]) == (us(880), 0)
    (card,) = [f for f in document["findings"] if f["id"] == "host_sync"]
    assert (card["status"], card["bound_ns_per_step"]) == ("ok", 0)
