"""The kept steps that all lanes have in common, and what each lane did in them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nsysflow.job.exposed import PART
from nsysflow.job.lanes import Ints, JobLane, Step
from nsysflow.job.study import Study
from nsysflow.job.table import read_table
from nsysflow.job.walk import Run

Vector = dict[str, int]


@dataclass(frozen=True)
class Common:
    """``numbers`` of the common steps in order; ``step`` of each lane by number."""

    numbers: tuple[int, ...]
    step: tuple[dict[int, Step], ...]

    def exposed(self, lane: int) -> Ints:
        """Return a lane's exposed communication in each common step."""
        return np.array([self.step[lane][n].exposed_ns for n in self.numbers], np.int64)

    def length(self, lane: int) -> Ints:
        """Return the lengths of a lane's common steps."""
        steps = [self.step[lane][n] for n in self.numbers]
        return np.array([step.end_ns - step.start_ns for step in steps], np.int64)


def common_steps(lanes: Sequence[JobLane]) -> Common:
    """Return the steps that every lane kept: by their numbers, or by place if there are none."""
    numbered = all(step.number is not None for lane in lanes for step in lane.steps)
    if not numbered and len({len(lane.steps) for lane in lanes}) != 1:
        return Common((), tuple({} for _ in lanes))
    by_number = tuple(
        {(step.number if numbered and step.number is not None else k): step
         for k, step in enumerate(lane.steps)}
        for lane in lanes
    )  # fmt: skip
    shared = set(by_number[0]).intersection(*by_number[1:]) if by_number else set()
    return Common(tuple(sorted(shared)), by_number)


def runs(common: Common) -> list[Run]:
    """Return the common steps in runs without a gap on any lane."""
    found: list[list[int]] = []
    for number in common.numbers:
        if found and _follows(common, found[-1][-1], number):
            found[-1].append(number)
        else:
            found.append([number])
    return [
        Run(
            tuple(each),
            np.array([step[each[0]].start_ns for step in common.step], np.int64),
            np.array([step[each[-1]].end_ns for step in common.step], np.int64),
        )
        for each in found
    ]


def _follows(common: Common, before: int, after: int) -> bool:
    return all(step[before].end_ns == step[after].start_ns for step in common.step)


def vectors(study: Study, common: Common, lane: int) -> dict[int, Vector]:
    """Return what a lane did in each common step: ns by cause, compute and transfer among them."""
    number = {common.step[lane][n].index: n for n in common.numbers}
    found: dict[int, Vector] = {n: {} for n in common.numbers}
    table = read_table(study.lanes[lane].folder / "lane_step.parquet").to_pylist()
    for row in table:
        if row["step"] in number:
            name = row["cause"] or piece_name(row["bucket"])
            mine = found[number[row["step"]]]
            mine[name] = mine.get(name, 0) + row["ns"]
    parts, part = study.exposed(lane)
    moved = np.isin(part, (PART["transfer_gated"], PART["transfer_host_late"]))
    for index, n in number.items():
        some = moved & (parts.step == index)
        found[n]["transfer"] = int((parts.end[some] - parts.start[some]).sum())
    return found


def spent(study: Study, common: Common, lane: int, cause: str) -> int:
    """Return what a lane spent on one cause in all common steps."""
    kept = {common.step[lane][n].index for n in common.numbers}
    table = read_table(study.lanes[lane].folder / "lane_step.parquet").to_pylist()
    return sum(row["ns"] for row in table if row["cause"] == cause and row["step"] in kept)


def piece_name(bucket: str) -> str:
    """Return what time without a cause is called: its bucket, all computing one."""
    return "compute" if bucket.startswith("compute") else bucket
