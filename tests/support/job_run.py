"""Small runs of several ranks with planted lateness, and their job stage without the command line.

A run is a list of collectives per step; each rank arrives at its own time and all leave together.
Times are planted on one true time line; every rank's file has its own clock.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from nsysflow.analyse import Files, Stored, analyse_job, analyse_lane, lane_folder
from nsysflow.convert import convert_trace, trace_folder
from nsysflow.find import find_inputs
from nsysflow.outdir import json_text
from nsysflow.rank import rank_table
from nsysflow.record import Record
from nsysflow.settings import Limits, Settings
from tests.support.export import Export, us

UTC = 1_700_000_000_000_000_000
NCCL = 1
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


@dataclass
class Planted:
    """A run of ``ranks``. ``work(rank, step)`` is the compute time before the step's collective.

    ``text`` names a step by its number; ``seen``: the rank's capture holds the step;
    ``calendar`` is how far the host's date is ahead.
    """

    ranks: int
    steps: int
    work: Callable[[int, int], int]
    transfer: int = us(100)
    clock: Callable[[int], int] = lambda rank: 1_000_000_007 * rank
    calendar: Callable[[int], int] = lambda _rank: 0
    session: Callable[[int], bool] = lambda _rank: True
    noise: Callable[[int, int], int] = lambda _rank, _step: 0
    jump: Callable[[int, int], int] = lambda _rank, _step: 0
    payload: bool = False
    kernel: str = ALL_REDUCE
    first_number: Callable[[int], int] = lambda _rank: 0
    file: Callable[[int], str] = lambda rank: f"rank{rank}.sqlite"
    hosts: int = 1
    skip: Sequence[tuple[int, int]] = ()
    # When the host asks for what follows the collective, from the start of the step.
    asked: Callable[[int, int], int] = lambda _rank, _step: us(30)
    text: Callable[[int], str] = "step {}".format
    seen: Callable[[int, int], bool] = lambda _rank, _step: True
    more: Callable[[Export, int, int, int], None] | None = None
    ends: list[int] = field(default_factory=list)

    def arrivals(self) -> list[list[int]]:
        """Return when each rank reaches each step's collective, and note when it ends."""
        now, found = us(1_000), []
        self.ends = []
        for step in range(self.steps):
            arrived = [now + us(50) + self.work(rank, step) for rank in range(self.ranks)]
            found.append(arrived)
            now = max(arrived) + self.transfer
            self.ends.append(now)
        return found

    def write(self, folder: Path) -> Path:
        """Write one export per rank."""
        arrived = self.arrivals()
        for rank in range(self.ranks):
            self._export(rank, arrived).write_sqlite(folder / self.file(rank))
        return folder

    def _export(self, rank: int, arrived: list[list[int]]) -> Export:
        export, pid, off = Export(), 100 + rank, self.clock(rank)
        export.env(RANK=str(rank), WORLD_SIZE=str(self.ranks))
        export.system("Hostname", f"node{rank * self.hosts // self.ranks:02d}.cluster")
        if self.session(rank):
            export.session(UTC + off + self.calendar(rank))
        if self.payload:
            export.nvtx("NCCL", 0, None, pid=pid, kind=75, domain=NCCL)
        last = us(1_000)
        for step in range(self.steps):
            if not self.seen(rank, step):
                last = self.ends[step]
                continue
            number = self.first_number(rank) + step
            off = self.clock(rank) - self.jump(rank, step)
            begin, at, end = last - off, arrived[step][rank] - off, self.ends[step] - off
            export.nvtx(self.text(number), begin + us(1), begin + us(48), pid=pid)
            launch = (begin + us(10), begin + us(14))
            export.kernel("gemm", begin + us(50), at, pid=pid, launch=launch)
            if (rank, step) not in self.skip:
                noisy = end + self.noise(rank, step)
                self._collective(export, rank, step, (begin, at, noisy))
            last = self.ends[step]
        # The trailing edge of the last step: the optimizer's kernel.
        begin = last - off
        export.nvtx(self.text(self.first_number(rank) + self.steps), begin + us(1), None, pid=pid)
        return export

    def _collective(
        self, export: Export, rank: int, step: int, times: tuple[int, int, int]
    ) -> None:
        begin, at, end = times
        pid = 100 + rank
        launch = (begin + us(20), begin + us(24))
        if self.payload:
            text = json.dumps({"NCCL communicator ID": 0xABC, "Message size [bytes]": 1 << 20})
            export.nvtx(
                "ncclAllReduce", launch[0] - us(1), launch[1] + us(1), pid=pid, domain=NCCL,
                registered=True, jsonText=text,
            )  # fmt: skip
        export.kernel(self.kernel, at, end, pid=pid, stream=20, launch=launch)
        asked = begin + self.asked(rank, step)
        tail = (asked, asked + us(3))
        after = max(end, tail[1])
        export.kernel("adam", after, after + us(5), pid=pid, launch=tail)
        if self.more is not None:
            self.more(export, rank, step, begin)


@dataclass(frozen=True)
class Job:
    """What the job stage wrote."""

    result: dict[str, Any]
    lanes: dict[str, dict[str, Any]]


def job_of(run: Path, folder: Path, settings: Settings | None = None) -> Job:
    """Convert and analyse all exports of a folder, then the job."""
    settings = settings or Settings()
    store = folder / "store"
    scratch = folder / "scratch"
    scratch.mkdir(parents=True)
    limits = Limits(temp_dir=scratch)
    captures = []
    for found in find_inputs([run]).inputs:
        name = trace_folder(found)
        store.mkdir(exist_ok=True)
        convert_trace(found, store / name, settings, limits)
        content = json.loads((store / name / "capture.json").read_text("utf-8"))
        captures.append(content | {"trace": name})
    table = rank_table(captures, settings)
    own, written = {}, {}
    for lane in table.lanes:
        document = analyse_lane(store, lane, settings, limits)
        own[lane.label] = json_text(document)
        assert (lane_folder(store, lane) / "collective.parquet").is_file()
    files = Files(
        store,
        lambda lane: Stored(own[lane.label]),
        lambda lane, text: written.update({lane.label: json.loads(text)}),
    )
    made = Record(run.name, (), (), settings)
    result = analyse_job(files, table.lanes, table, made, settings)
    return Job(json.loads(json_text(result)), written)
