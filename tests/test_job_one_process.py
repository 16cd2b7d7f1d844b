"""One process that drives several GPUs: which call, and which rank, belongs to which of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command import check_identity, report
from tests.support.export import Export, ms, us

if TYPE_CHECKING:
    from pathlib import Path

NCCL, COMM, GPUS, STEPS = 1, 7, 4, 5
SIZE = 1 << 20
MAIN = 100


class Process:
    """Steps of a gemm and a collective on every GPU; GPU 0 comes 10 ms late to each.

    ``threads``: each GPU has a thread that calls for it, else one thread calls for all in a group.
    """

    def __init__(self, *, threads: bool, created: bool = True) -> None:
        """Begin; with ``created`` the capture holds the communicator's creation."""
        self.export, self.threads = Export(), threads
        self.export.session(1_700_000_000_000_000_000)
        self.export.nvtx("NCCL", 0, None, kind=75, domain=NCCL)
        for gpu in range(GPUS):
            self.export.gpu(gpu, "NVIDIA H100 80GB HBM3", f"GPU-{gpu}", f"0000:{gpu}b:00.0", gpu)
        for gpu in range(GPUS if created else 0):
            seat = {"No. of ranks": GPUS, "Rank": gpu, "CUDA device": gpu}
            self._say("ncclCommInitRank", us(10 * gpu), us(10 * gpu + 1), gpu, **seat)

    def _thread(self, gpu: int) -> int:
        return 200 + gpu if self.threads else MAIN

    def _say(self, name: str, start: int, end: int, gpu: int, **fields: int) -> None:
        text = json.dumps({"NCCL communicator ID": COMM} | fields) if fields else None
        self.export.nvtx(
            name, start, end, tid=self._thread(gpu), domain=NCCL, registered=True, jsonText=text
        )

    def step(self, number: int, calls: list[tuple[str, dict[str, int]]]) -> None:
        """Add a step whose collective on GPU n carries out ``calls``, peers counted from n."""
        at = ms(1 + 100 * number)
        self.export.nvtx(f"step {number}", at, at + ms(100), tid=MAIN)
        if not self.threads:
            self._say("ncclGroupStart", at + us(90), at + us(91), 0)
        for gpu in range(GPUS):
            self._gpu(gpu, at, calls)
        if not self.threads:
            self._say("ncclGroupEnd", at + us(190), at + us(300), 0)

    def _gpu(self, gpu: int, at: int, calls: list[tuple[str, dict[str, int]]]) -> None:
        where: dict[str, Any] = {"device": gpu, "tid": self._thread(gpu)}
        ready, end = at + ms(20 if gpu else 30), at + ms(35)
        first = (at + us(10 + 3 * gpu), at + us(12 + 3 * gpu))
        self.export.kernel("gemm", at + us(80), ready, launch=first, **where)
        asked = at + us(200 + 10 * gpu)
        for place, (name, fields) in enumerate(calls):
            told = {"Message size [bytes]": SIZE} | fields
            if "Peer rank" in told:
                told["Peer rank"] = (gpu + told["Peer rank"]) % GPUS
            begin = asked if self.threads else at + us(100 + 20 * gpu + 2 * place)
            self._say(name, begin, begin + us(6 if self.threads else 1), gpu, **told)
        launch = (asked + us(1), asked + us(3))
        name = f"ncclDevKernel_{'SendRecv' if 'Peer rank' in calls[0][1] else calls[0][0][4:]}"
        self.export.kernel(name, ready, end, stream=13, launch=launch, **where)
        last = (at + us(310 + 3 * gpu), at + us(312 + 3 * gpu))
        self.export.kernel("adam", end, end + ms(1), launch=last, **where)

    def lanes(self, folder: Path, *calls: tuple[str, dict[str, int]]) -> list[dict[str, Any]]:
        """Report; return the only collective of each GPU, in their order."""
        for number in range(STEPS + 1):
            self.step(number, list(calls))
        self.export.write_sqlite(folder / "run" / "all.sqlite")
        made = report(folder / "run", folder / "out")
        assert made.ended.code == 0, made.ended.err
        found = sorted(made.lanes.values(), key=lambda lane: lane["lane"]["device"])
        for lane in found:
            check_identity(lane)
        return [item for lane in found for item in lane["collectives"]["items"]]


def pairs(*offsets: int) -> list[tuple[str, dict[str, int]]]:
    return [(name, {"Peer rank": by}) for by in offsets for name in ("ncclSend", "ncclRecv")]


@pytest.mark.parametrize("created", [True, False])
@pytest.mark.parametrize("threads", [True, False])
def test_each_gpu_moves_its_own_bytes(tmp_path: Path, threads: bool, created: bool) -> None:
    items = Process(threads=threads, created=created).lanes(tmp_path, ("ncclAllReduce", {}))
    told = [(item["op"], item["members"], item["count"], item["bytes"]) for item in items]
    assert told == GPUS * [("all_reduce", GPUS, STEPS, STEPS * SIZE)]
    assert [item["wait_ns"] for item in items] == [0, *(3 * [STEPS * ms(10)])]
    # 1 MiB within 5 ms, by 2 (n - 1) / n.
    assert {item["busbw_bytes_per_s"] for item in items} == {314572800.0}


def test_several_calls_for_each_gpu(tmp_path: Path) -> None:
    calls = 2 * [("ncclAllGather", {"Message size [bytes]": 100})]
    items = Process(threads=False).lanes(tmp_path, *calls)
    assert [item["bytes"] for item in items] == GPUS * [STEPS * 200]


@pytest.mark.parametrize("threads", [True, False])
@pytest.mark.parametrize("root", [0, 3])
def test_the_root_is_the_gpu_of_that_rank(tmp_path: Path, threads: bool, root: int) -> None:
    """GPU 0 is late: only where it is the root do the others wait for it."""
    items = Process(threads=threads).lanes(tmp_path, ("ncclBroadcast", {"Root": root}))
    late = STEPS * ms(10) if root == 0 else 0
    assert [item["wait_ns"] for item in items] == [0, late, late, late]


def test_the_neighbours_of_a_ring_are_no_all_to_all(tmp_path: Path) -> None:
    items = Process(threads=False).lanes(tmp_path, *pairs(1, GPUS - 1))
    assert [(item["op"], item["bytes"]) for item in items] == GPUS * [("send_recv", STEPS * SIZE)]


def test_sends_from_every_gpu_to_every_other(tmp_path: Path) -> None:
    items = Process(threads=False).lanes(tmp_path, *pairs(1, 2, 3))
    assert [(item["op"], item["bytes"]) for item in items] == GPUS * [("all_to_all", STEPS * SIZE)]
