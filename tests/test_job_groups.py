"""What NCCL's ranges say of a kernel: calls, groups, sends, several communicators in one group."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.support.engine import analysed
from tests.support.export import Export, us

NCCL = 1


class Calls:
    """One thread's NCCL calls and the kernels that they launch, one after the other."""

    def __init__(self, ranks: int | None = None) -> None:
        """Begin; with ``ranks`` the communicator 7 is created inside the capture."""
        self.export = Export()
        self.export.nvtx("NCCL", 0, None, kind=75, domain=NCCL)
        self.now = us(10)
        if ranks is not None:
            fields = {"NCCL communicator ID": 7, "No. of ranks": ranks, "Rank": 0, "CUDA device": 0}
            self._range("ncclCommInitRankConfig", fields)

    def _range(self, name: str, fields: dict[str, int] | None = None, length: int = 1) -> None:
        text: dict[str, Any] = {} if fields is None else {"jsonText": json.dumps(fields)}
        end = self.now + us(length)
        self.export.nvtx(name, self.now, end, domain=NCCL, registered=True, **text)
        self.now = end + us(1)

    def call(self, name: str, comm: int, size: int, peer: int | None = None) -> None:
        """Add a call inside a group: it launches nothing itself."""
        fields = {"NCCL communicator ID": comm, "Message size [bytes]": size}
        self._range(name, fields | ({} if peer is None else {"Peer rank": peer}))

    def launch(self, kernels: int = 1) -> None:
        """Add the end of a group, with the kernels it launches."""
        begin = self.now
        for k in range(kernels):
            at = begin + us(2 + 3 * k)
            self._kernel(at)
        self.now = begin
        self._range("ncclGroupEnd", length=3 * kernels + 5)
        self.now += us(500)

    def group(self, kernels: int, *calls: tuple[str, int, int, int | None]) -> None:
        """Add a whole group."""
        self._range("ncclGroupStart")
        for call in calls:
            self.call(*call)
        self.launch(kernels)

    def single(self, name: str, comm: int, size: int) -> None:
        """Add a call of its own with its kernel."""
        self._kernel(self.now + us(1))
        fields = {"NCCL communicator ID": comm, "Message size [bytes]": size}
        self._range(name, fields, length=5)
        self.now += us(500)

    def _kernel(self, at: int) -> None:
        name = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"
        self.export.kernel(name, at + us(50), at + us(150), stream=20, launch=(at, at + us(1)))

    def items(self, folder: Path) -> list[dict[str, Any]]:
        """Analyse; return (op, source, communicator, count, bytes) of every row."""
        self.export.kernel("gemm", us(1), us(9), launch=(0, us(1)))
        (document,) = analysed(self.export, folder).values()
        names = ("op", "op_source", "communicator", "count", "bytes")
        rows = document["collectives"]["items"]
        return sorted(({n: row[n] for n in names} for row in rows), key=str)


def row(op: str, comm: int | None, count: int, size: int | None) -> dict[str, Any]:
    name = None if comm is None else f"0x{comm:016x}"
    source = "payload" if comm is not None else "kernel_name"
    return {
        "op": op, "op_source": source, "communicator": name, "count": count, "bytes": size,
    }  # fmt: skip


def test_a_call_of_its_own(tmp_path: Path) -> None:
    calls = Calls()
    calls.single("ncclAllReduce", 7, 100)
    calls.single("ncclAllReduce", 7, 50)
    calls.single("ncclReduceScatter", 8, 10)
    assert calls.items(tmp_path) == [
        row("all_reduce", 7, 2, 150), row("reduce_scatter", 8, 1, 10)
    ]  # fmt: skip


def test_a_group_is_one_kernel_with_all_its_bytes(tmp_path: Path) -> None:
    calls = Calls()
    calls.group(1, ("ncclAllGather", 7, 10, None), ("ncclAllGather", 7, 30, None))
    assert calls.items(tmp_path) == [row("all_gather", 7, 1, 40)]


def test_several_operations_in_a_group_are_generic(tmp_path: Path) -> None:
    calls = Calls()
    calls.group(1, ("ncclAllGather", 7, 10, None), ("ncclReduceScatter", 7, 30, None))
    assert calls.items(tmp_path) == [row("generic", 7, 1, 40)]


def test_sends_and_receives_with_every_other_rank_are_an_all_to_all(tmp_path: Path) -> None:
    calls = Calls(ranks=4)
    talk = [(name, 7, 100, peer) for peer in (1, 2, 3) for name in ("ncclSend", "ncclRecv")]
    calls.group(1, *talk)
    assert calls.items(tmp_path) == [row("all_to_all", 7, 1, 100)]


def test_without_the_number_of_ranks_two_neighbours_are_no_all_to_all(tmp_path: Path) -> None:
    for number, (peers, op, size) in enumerate(
        (((0, 2), "send_recv", 100), ((1, 3, 4), "send_recv", 100), ((0, 1, 3), "all_to_all", 100))
    ):
        calls = Calls()
        talk = [(name, 7, 100, peer) for peer in peers for name in ("ncclSend", "ncclRecv")]
        calls.group(1, *talk)
        assert calls.items(tmp_path / str(number)) == [row(op, 7, 1, size)]


def test_sends_to_some_ranks_are_sends(tmp_path: Path) -> None:
    calls = Calls(ranks=4)
    talk = [(name, 7, 100, peer) for peer in (1, 3) for name in ("ncclSend", "ncclRecv")]
    calls.group(1, *talk)
    assert calls.items(tmp_path) == [row("send_recv", 7, 1, 100)]


def test_communicators_of_one_group_launch_in_the_program_order(tmp_path: Path) -> None:
    calls = Calls()
    calls.group(2, ("ncclAllReduce", 9, 10, None), ("ncclAllReduce", 7, 30, None))
    assert calls.items(tmp_path) == [row("all_reduce", 7, 1, 30), row("all_reduce", 9, 1, 10)]


def test_kernels_that_a_group_does_not_account_for_stay_unnamed(tmp_path: Path) -> None:
    calls = Calls()
    calls.group(3, ("ncclAllReduce", 9, 10, None), ("ncclAllReduce", 7, 30, None))
    assert calls.items(tmp_path) == [row("send_recv", None, 3, None)]


def test_a_capture_that_begins_inside_a_group(tmp_path: Path) -> None:
    calls = Calls()
    calls.call("ncclAllReduce", 7, 5)
    calls.launch()
    calls.group(1, ("ncclAllReduce", 7, 30, None))
    assert row("all_reduce", 7, 1, 30) in calls.items(tmp_path)


def test_groups_in_groups_launch_at_the_outermost_end(tmp_path: Path) -> None:
    calls = Calls()
    calls._range("ncclGroupStart")
    calls._range("ncclGroupStart")
    calls.call("ncclAllReduce", 7, 10)
    calls._range("ncclGroupEnd")
    calls.call("ncclAllReduce", 7, 20)
    calls.launch()
    assert calls.items(tmp_path) == [row("all_reduce", 7, 1, 30)]
