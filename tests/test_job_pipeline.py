"""Waiting between pipeline stages: told where the sends say to whom, else said to be untold."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.support.command import Report, check_identity, report
from tests.support.export import Export, ms, us
from tests.support.schemas import check

if TYPE_CHECKING:
    from pathlib import Path

STAGES, STEPS, LAYERS = 4, 5, ms(2)
SEND_RECV = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)"


class Stage:
    """One stage: it receives from the stage before, computes 2 ms, and sends to the next."""

    def __init__(self, number: int, *, payload: bool, streams: int) -> None:
        """Begin a rank of the job; with ``payload`` NCCL says who talks to whom."""
        self.number, self.payload, self.pid = number, payload, 100 + number
        self.streams = {"ncclRecv": 20, "ncclSend": 19 + streams}
        self.export, self.asked = Export(), 0
        self.export.system("Hostname", "node17")
        self.export.session(1_700_000_000_000_000_000)
        self.export.env(RANK=str(number), WORLD_SIZE=str(STAGES))
        if payload:
            self.export.nvtx("NCCL", 0, None, pid=self.pid, kind=75, domain=1)

    def _launch(self) -> tuple[int, int]:
        self.asked += us(20)
        return self.asked, self.asked + us(5)

    def _talk(self, name: str, start: int, end: int, pair: int) -> None:
        launch = self._launch()
        if self.payload:
            fields = {
                "NCCL communicator ID": pair,
                "Message size [bytes]": 1 << 20,
                "Peer rank": int(name == "ncclSend"),
            }
            self.export.nvtx(
                name, launch[0] - us(1), launch[1] + us(1), pid=self.pid, domain=1,
                registered=True, jsonText=json.dumps(fields),
            )  # fmt: skip
        stream = self.streams[name]
        self.export.kernel(SEND_RECV, start, end, pid=self.pid, stream=stream, launch=launch)

    def step(self, index: int) -> None:
        """Add a step of one micro-batch: a stage has it 2 ms after the stage before."""
        begin = ms(1) + ms(20) * index
        self.export.nvtx(f"step {index}", begin - us(500), begin + ms(19), pid=self.pid)
        self.asked = begin - us(400)
        at = begin + self.number * LAYERS
        if self.number:
            self._talk("ncclRecv", begin + us(10), at, self.number)
        self.export.kernel("gemm", at, at + LAYERS - us(20), pid=self.pid, launch=self._launch())
        if self.number < STAGES - 1:
            self._talk("ncclSend", at + LAYERS - us(20), at + LAYERS, self.number + 1)
        tail = (begin + ms(15), begin + ms(17))
        self.export.kernel("adam", *tail, pid=self.pid, launch=self._launch())


def made(tmp_path: Path, *, payload: bool = False, streams: int = 1, layout: bool = True) -> Report:
    for number in range(STAGES):
        stage = Stage(number, payload=payload, streams=streams)
        for index in range(STEPS):
            stage.step(index)
        stage.export.write_sqlite(tmp_path / "run" / f"rank{number}.sqlite")
    if layout:
        (tmp_path / "run" / "nsysflow.toml").write_text(f"[job]\npp = {STAGES}\n")
    done = report(tmp_path / "run", tmp_path / "out")
    assert done.ended.code == 0, done.ended.err
    check(done.result, "result-1")
    for document in done.lanes.values():
        check_identity(document)
    return done


@pytest.mark.parametrize(("payload", "streams"), [(True, 1), (False, 2)])
def test_the_bubble_of_every_stage(tmp_path: Path, payload: bool, streams: int) -> None:
    """By who talks to whom, or by which streams of one host end together."""
    done = made(tmp_path, payload=payload, streams=streams)
    bubbles = [stage["bubble_ns_per_step"] for stage in done.result["pipeline"]["stages"]]
    assert bubbles == [0, *(ms(2 * k) - us(30) for k in range(1, STAGES))]
    assert {row["offset_ns"] for row in done.result["alignment"]["offsets"]} == {0}
    answers = {found["id"]: found["status"] for found in done.result["findings"]}
    assert answers["pipeline_bubble"] == "info"
    # Each stage has other layers: there is nobody to compare a rank with.
    assert (done.result["walk"]["status"], answers["straggler"]) == ("ok", "unavailable")
    assert "nobody to compare" in done.result["stragglers"]["reason"]


def test_a_bubble_that_cannot_be_told_is_not_small(tmp_path: Path) -> None:
    """One stream receives and sends: set clocks freely, and it ends with that of any stage."""
    done = made(tmp_path)
    assert {row["offset_ns"] for row in done.result["alignment"]["offsets"]} == {0}
    assert done.result["collectives"]["groups"] == []
    pipeline = done.result["pipeline"]
    answers = {found["id"]: found for found in done.result["findings"]}
    assert (pipeline["status"], answers["pipeline_bubble"]["status"]) == ("withheld", "unavailable")
    schedule = answers["pipeline_schedule"]
    assert (schedule["status"], schedule["title"]) == ("unavailable", pipeline["reason"])
    lanes = done.lanes.values()
    told = [f for lane in lanes for f in lane["findings"] if f["id"] == "pipeline_bubble"]
    assert [f["status"] for f in told] == ["ok", *(STAGES - 1) * ["unavailable"]]


def test_sends_without_a_known_peer_may_be_those_of_a_pipeline(tmp_path: Path) -> None:
    done = made(tmp_path, layout=False)
    pipeline = done.result["pipeline"]
    answers = {found["id"]: found for found in done.result["findings"]}
    assert (pipeline["status"], answers["pipeline_schedule"]["status"]) == (
        "withheld",
        "unavailable",
    )
    assert "they may be pipeline stages" in answers["pipeline_schedule"]["title"]
