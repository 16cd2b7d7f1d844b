"""Idle time of ops that were queued: what held them, on evidence recorded for those instants."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.engine import analysed
from tests.support.export import SYNC, Export, global_pid, us

if TYPE_CHECKING:
    from pathlib import Path

EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
SWITCH = "GPU_CONTEXT_SWITCH_EVENTS"
WAIT = "cudaStreamWaitEvent_v3020"
PRODUCER = "void producer<float>"


def two_gpus(pid: int = 100) -> Export:
    """GPU 0 runs 1 to 10 µs and again from 101; GPU 1 runs 2 to 100: a queued gap of 91 µs."""
    export = Export()
    export.kernel(PRODUCER, us(2), us(100), device=1, context=2, stream=13, pid=pid,
                  launch=(100, 200))  # fmt: skip
    export.kernel("first", us(1), us(10), pid=pid, launch=(300, 400))
    export.kernel("held", us(101), us(110), pid=pid, launch=(2_000, 2_100))
    return export


def depend(
    export: Export,
    *,
    pid: int = 100,
    wait: str = WAIT,
    number: int = 5,
    record: tuple[int, int, int] = (2, 13, 1_000),
    at: int = 0,
    waiter: int | None = None,
) -> Export:
    """An event recorded on (context, stream) at a host time, and a stream of GPU 0 that waits.

    ``waiter`` is the process that waits, if it is another.
    """
    context, stream, host = record
    made = export.api("cudaEventRecord_v3020", host, host + 50, pid=pid)
    place = {"contextId": context, "streamId": stream, "globalPid": (1 << 48) | (pid << 24)}
    export.row(EVENT, timestamp=at, deviceId=context - 1, correlationId=made, eventId=77,
               eventSyncId=number, **place)  # fmt: skip
    export.sync(2, 1_500, 1_520, 77, pid=waiter or pid, launch=(1_490, 1_540), api=wait,
                more={"eventSyncId": number})  # fmt: skip
    return export


def idle(export: Export, tmp_path: Path, lane: tuple[int, int] = (100, 0)) -> dict[str, int]:
    return {c: ns for c, ns in document(export, tmp_path, lane)["causes"]["idle"].items() if ns}


def document(export: Export, tmp_path: Path, lane: tuple[int, int] = (100, 0)) -> dict[str, Any]:
    made: dict[str, Any] = analysed(export, tmp_path)[lane]
    assert made["buckets"]["idle"] == sum(made["causes"]["idle"].values())
    return made


def test_a_queued_op_waits_for_another_gpu(tmp_path: Path) -> None:
    made = document(depend(two_gpus()), tmp_path)
    found = {c: ns for c, ns in made["causes"]["idle"].items() if ns}
    # The producer ends at 100; what is left until 101 is the device's own turn-around.
    assert found == {"dependency_stall": us(90), "micro_gap": us(1)}
    assert made["gaps"]["top"][0]["evidence"] == "waited for producer"
    assert "dependency_stall" in str(made["timeline"])


def test_the_time_of_the_event_is_the_better_evidence(tmp_path: Path) -> None:
    # Reached at 60 µs, whatever ran on longer: behind it stands something that is no kernel.
    found = idle(depend(two_gpus(), at=us(60)), tmp_path)
    assert found == {"dependency_stall": us(50), "queued_unexplained": us(41)}


UNEXPLAINED = {"queued_unexplained": us(91)}


def test_the_card_names_what_was_waited_for(tmp_path: Path) -> None:
    made = document(depend(two_gpus()), tmp_path)
    (card,) = [f for f in made["findings"] if f["id"] == "dependency_stall"]
    assert (card["status"], card["bound_ns_per_step"]) == ("opportunity", us(90))
    assert "waited for producer" in card["evidence"][0]["text"]


def _reused(export: Export) -> Export:
    return depend(depend(export), record=(1, 7, 350))


def _other_process(export: Export) -> Export:
    """Another process has the same handles, correlations and streams."""
    other = depend(export, pid=200)
    other.kernel("elsewhere", us(1), us(100), device=3, context=2, stream=13, pid=200,
                 launch=(500, 600))  # fmt: skip
    return other


@pytest.mark.parametrize(
    "change",
    [
        lambda export: export,
        lambda export: depend(export, wait="cudaEventSynchronize_v3020"),
        lambda export: depend(export, wait="cudaEventQuery_v3020"),
        # Recorded before the producer was launched: it stands behind nothing that runs.
        lambda export: depend(export, record=(2, 13, 50)),
        # A stream of another context has the same number.
        lambda export: depend(export, record=(3, 13, 1_000)),
        # Reached long before the gap, or after the op began.
        lambda export: depend(export, at=us(5)),
        lambda export: depend(export, at=us(105)),
        _reused,
        _other_process,
        # Another process waits for an event of the same number.
        lambda export: depend(export, at=us(60), waiter=200),
    ],
    ids=[
        "nothing",
        "host_wait",
        "query",
        "early_record",
        "other_context",
        "reached",
        "late",
        "reused",
        "process",
        "other_waits",
    ],
)
def test_without_evidence_of_the_very_wait_it_stays_unexplained(
    change: Any, tmp_path: Path
) -> None:
    assert idle(change(two_gpus()), tmp_path) == UNEXPLAINED


def test_without_the_tables_nothing_is_claimed(tmp_path: Path) -> None:
    export = depend(two_gpus())
    export.drop = {EVENT, SYNC}
    made = document(export, tmp_path)
    assert {c: ns for c, ns in made["causes"]["idle"].items() if ns} == UNEXPLAINED
    (card,) = [f for f in made["findings"] if f["id"] == "dependency_stall"]
    assert card["status"] == "unavailable"
    assert EVENT in card["title"]


def one_gpu(other: int = 200, gpu: int = 0, *, null: bool = False) -> Export:
    """A queued gap from 10 to 101 µs, in which a context has the GPU from 20 to 50 µs."""
    export = Export()
    export.gpu(0, "NVIDIA A10", "GPU-aaaa")
    export.gpu(1, "NVIDIA A10", "GPU-bbbb", bus="0000:43:00.0")
    export.kernel("first", us(1), us(10), launch=(300, 400))
    export.kernel("held", us(101), us(110), launch=(2_000, 2_100))
    own = global_pid(100)
    turns = [(own, 7, us(1), us(20)), (global_pid(other), 9, us(20), us(50)),
             (own, 7, us(50), us(110))]  # fmt: skip
    for number, (process, context, start, end) in enumerate(turns):
        for tag, at in ((8, start), (7, end)):
            export.row(
                SWITCH, tag=tag, seqNo=2 * number + (tag == 7), contextId=context, timestamp=at,
                globalPid=None if null and process != own else process, gpuId=gpu,
            )  # fmt: skip
    return export


def test_another_process_has_the_gpu(tmp_path: Path) -> None:
    made = document(one_gpu(), tmp_path)
    found = {c: ns for c, ns in made["causes"]["idle"].items() if ns}
    assert found == {"gpu_shared": us(30), "queued_unexplained": us(61)}
    (card,) = [f for f in made["findings"] if f["id"] == "gpu_shared"]
    assert (card["status"], card["bound_ns_per_step"]) == ("opportunity", us(30))


@pytest.mark.parametrize(
    "export",
    [
        one_gpu(other=100),
        one_gpu(gpu=1),
        one_gpu(null=True),
    ],
    ids=["own_context", "other_gpu", "process_not_recorded"],
)
def test_only_a_turn_of_another_process_on_this_gpu_counts(export: Export, tmp_path: Path) -> None:
    assert idle(export, tmp_path) == UNEXPLAINED


def test_a_wait_comes_before_the_turn_of_another_process(tmp_path: Path) -> None:
    export = depend(two_gpus(), at=us(40))
    export.gpu(0, "NVIDIA A10", "GPU-aaaa")
    other = {"vmId": 0, "contextId": 9, "globalPid": global_pid(200), "gpuId": 0}
    for tag, at in ((8, us(20)), (7, us(60))):
        export.row(SWITCH, tag=tag, seqNo=tag == 7, timestamp=at, **other)
    found = idle(export, tmp_path)
    assert found == {
        "dependency_stall": us(30),
        "gpu_shared": us(20),
        "queued_unexplained": us(41),
    }
