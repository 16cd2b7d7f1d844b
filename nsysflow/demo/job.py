"""Run the whole job: stages side by side, step by step, into exports and truth."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nsysflow.demo import comms
from nsysflow.demo.clock import JOB_START_NS, Clock, clocks
from nsysflow.demo.export import RankFile, StepWriter, open_export
from nsysflow.demo.machine import Machine
from nsysflow.demo.metadata import Describer
from nsysflow.demo.plan import GPUS_PER_HOST
from nsysflow.demo.record import Words
from nsysflow.demo.report import Report
from nsysflow.demo.sizes import Sizes, toml
from nsysflow.demo.training import Trainer
from nsysflow.demo.truth import Ops, RankTruth

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from nsysflow.demo.comms import Communicator
    from nsysflow.demo.machine import Meeting
    from nsysflow.demo.plan import Plan
    from nsysflow.demo.record import Rows, Times

FIRST_PID = 41_000


@dataclass
class Job:
    """One run being made in ``folder``. Memory holds one step of every rank, no more."""

    plan: Plan
    folder: Path
    words: Words = field(default_factory=Words)
    trainers: list[Trainer] = field(init=False)
    files: list[RankFile] = field(init=False)
    truths: list[RankTruth] = field(init=False)
    clocks: list[Clock] = field(init=False)
    comms: dict[tuple[int, str], Communicator] = field(init=False)
    report: Report = field(init=False)

    def __post_init__(self) -> None:
        """Set every rank up."""
        plan = self.plan
        self.sizes = Sizes(plan)
        self.comms = comms.by_rank(plan)
        self.clocks = clocks(plan)
        self.trainers = [self._trainer(stage) for stage in range(plan.pipeline_parallel)]
        self.truths = [RankTruth(plan.first_number) for _ in range(plan.ranks)]
        self.files = [
            RankFile(
                self.folder / f"rank{rank}.sqlite",
                FIRST_PID + 311 * (rank % GPUS_PER_HOST),
                rank % GPUS_PER_HOST,
                1 + 13 * rank % 97,
                1_000 + 7 * rank,
            )
            for rank in range(plan.ranks)
        ]
        self.report = Report(plan, self.sizes, self.comms)

    def _trainer(self, stage: int) -> Trainer:
        plan = self.plan
        machine = Machine(
            stage, plan.pipeline_parallel, plan.stage_ranks, plan.replicas,
            np.random.default_rng([plan.seed, stage]), self.words, JOB_START_NS,
        )  # fmt: skip
        first = stage * plan.stage_ranks
        hosts = {kind: item.hosts for (rank, kind), item in self.comms.items() if rank == first}
        return Trainer(plan, self.sizes, machine, first, hosts)

    def run(self, progress: Callable[[int], None]) -> dict[str, Any]:
        """Make all steps; return the truth, which is written too."""
        for rank in range(self.plan.ranks):
            self._describe(rank, "begin", self.clocks[rank].at(JOB_START_NS))
        for index in range(self.plan.steps):
            self._simulate(index)
            for trainer in self.trainers:
                self._finish(trainer, index)
            progress(index)
        for rank, file in enumerate(self.files):
            self._describe(rank, "end", file.last_ns)
        truth = self.report.truth(self.files, self.clocks, [t.steps for t in self.truths])
        text = json.dumps(truth, sort_keys=True, indent=1)
        (self.folder / "truth.json").write_text(text + "\n", encoding="utf-8")
        (self.folder / "nsysflow.toml").write_text(toml(self.sizes), encoding="utf-8")
        return truth

    def _describe(self, rank: int, what: str, at: int) -> None:
        file = self.files[rank]
        mine = [item for (owner, _), item in sorted(self.comms.items(), key=lambda entry: entry[0])
                if owner == rank]  # fmt: skip
        connection = open_export(file.path)
        describer = Describer(self.plan, rank, file, connection, self.clocks[rank], mine)
        getattr(describer, what)(at)
        file.flush_strings(connection)
        connection.commit()
        connection.close()

    def _simulate(self, index: int) -> None:
        """Run one step of all stages; those that wait for each other meet here."""
        running: list[tuple[Iterator[Meeting], Any]] = [
            (trainer.step(index), None) for trainer in self.trainers
        ]
        waiting: dict[tuple[object, ...], list[tuple[Any, Meeting]]] = {}
        while running:
            work, answer = running.pop()
            try:
                meeting = work.send(answer)  # type: ignore[attr-defined]
            except StopIteration:
                continue
            here = waiting.setdefault(meeting.key, [])
            here.append((work, meeting))
            if len(here) == meeting.parties:
                running += _resolve(waiting.pop(meeting.key))
        if waiting:
            raise RuntimeError(f"stages wait for each other for ever: {sorted(map(str, waiting))}")

    def _finish(self, trainer: Trainer, index: int) -> None:
        machine = trainer.machine
        rows = machine.record.take()
        began, ended = trainer.host_ranges[-1]
        for place in range(machine.ranks):
            rank = trainer.first_rank + place
            clock = self.clocks[rank]
            times = {name: clock.local(table.times[:, place]) for name, table in rows.items()}
            host = int(clock.local(began[place])), int(clock.local(ended[place]))
            ops = Ops.of(rows["kernel"], rows["copy"], (times["kernel"], times["copy"]))
            step = self.truths[rank].step(ops, self._doing(rows["label"], times["label"]), host)
            step["collectives"] = self.report.collectives(machine.instances, place, clock)
            self._write(rank, machine, rows, times)
        self.report.remember(machine.instances, trainer.first_rank, index)
        machine.instances = []

    def _doing(self, rows: Rows, times: Times) -> list[tuple[str, int, int]]:
        names = [self.words.texts[number] for number in rows.shared["label"].tolist()]
        spans = zip(names, times[0].tolist(), times[1].tolist(), strict=True)
        return [span for span in spans if span[1] >= 0]

    def _write(
        self, rank: int, machine: Machine, rows: dict[str, Rows], times: dict[str, Times]
    ) -> None:
        file, plan = self.files[rank], self.plan
        connection = open_export(file.path)
        writer = StepWriter(file, connection, self.words)
        writer.kernels(rows["kernel"], times["kernel"])
        writer.copies(rows["copy"], times["copy"])
        writer.calls(rows["call"], times["call"])
        if plan.has("sync"):
            writer.syncs(rows["sync"], times["sync"])
        if plan.has("osrt"):
            writer.os_calls(rows["osrt"], times["osrt"])
        if plan.has("nvtx"):
            writer.ranges(rows["nvtx"], times["nvtx"], self._blobs(rank, machine))
        file.flush_strings(connection)
        connection.commit()
        connection.close()
        file.last_ns = max(file.last_ns, int(times["kernel"].max()), int(times["call"].max()))

    def _blobs(self, rank: int, machine: Machine) -> list[bytes] | None:
        if not self.plan.has("payload"):
            return None
        found = []
        for call, kind, count in machine.payloads:
            item = self.comms[rank, kind]
            more = (0,) if call in {"ncclAllReduce", "ncclReduceScatter"} else ()
            if call in {"ncclSend", "ncclRecv"}:
                more = (1 - item.members.index(rank),)
            found.append(comms.blob(call, (item.hash, count, *more)))
        return found


def _resolve(parties: list[tuple[Any, Meeting]]) -> list[tuple[Any, Any]]:
    """Return each party's work and when the last member came and all left, per rank."""
    arrivals = [meeting.arrivals for _, meeting in parties]
    if parties[0][1].everyone:
        latest = max(int(times.max()) for times in arrivals)
        return [
            (
                work,
                (
                    np.full_like(m.arrivals, latest),
                    np.full_like(m.arrivals, latest + m.transfer_ns),
                ),
            )
            for work, m in parties
        ]
    last = np.maximum(arrivals[0], arrivals[1])
    return [(work, (last, last + meeting.transfer_ns)) for work, meeting in parties]
