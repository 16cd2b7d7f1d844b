"""Collectives with a root, sends and receives: the straggler's bound against the run without it.

A job is a program per rank, played on one true time line: what a rank does next begins when what it
did before has ended. Whom a rank waits for depends on the operation, and so does what mending one
rank gains.
"""

# ruff: noqa: S311  randomness that must be repeatable, not secret

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from tests.support.export import Export, us
from tests.support.job_run import NCCL, UTC, job_of

RANKS, STEPS, PARTS, SLOW, FACTOR = 4, 6, 6, 2, 1.5
TRANSFER, TAIL, START = us(60), us(5), us(1_000)
KERNEL = "ncclDevKernel_{}(ncclDevKernelArgsStorage<4096ul>)"
# The kernel of each kind of collective, and its call.
NAMES = {
    "all_reduce": ("AllReduce_Sum_bf16_RING_LL", "ncclAllReduce"),
    "broadcast": ("Broadcast_RING_LL", "ncclBroadcast"),
    "reduce": ("Reduce_Sum_bf16_RING_LL", "ncclReduce"),
    "scatter": ("SendRecv", "ncclScatter"),
    "gather": ("SendRecv", "ncclGather"),
    "ring": ("SendRecv", ""),
    "chain": ("SendRecv", ""),
}
ROOTED = ("broadcast", "reduce", "scatter", "gather")
SENDS = ("ring", "chain")
MIX = ("all_reduce", *ROOTED, *SENDS)
Calls = list[tuple[str, dict[str, int]]]


@dataclass(frozen=True)
class Part:
    """All ranks compute, then communicate."""

    kind: str
    root: int
    work: tuple[int, ...]

    def awaited(self, rank: int) -> tuple[int, ...]:
        """Whom a rank waits for."""
        if self.kind in SENDS:
            return tuple(peer for _, peer in self.talks(rank))
        if self.kind == "all_reduce" or (self.kind in ("reduce", "gather") and rank == self.root):
            return tuple(range(RANKS))
        return (self.root,) if self.kind in ("broadcast", "scatter") else ()

    def talks(self, rank: int) -> tuple[tuple[str, int], ...]:
        """To whom a rank sends, and from whom it receives, in one kernel."""
        if self.kind == "ring":
            return ("ncclSend", (rank + 1) % RANKS), ("ncclRecv", (rank - 1) % RANKS)
        near = [peer for peer in (rank - 1, rank + 1) if 0 <= peer < RANKS]
        return tuple((call, peer) for peer in near for call in ("ncclSend", "ncclRecv"))

    def calls(self, rank: int) -> Calls:
        """The calls of a rank with what they say."""
        if self.kind in SENDS:
            return [(call, {"Peer rank": peer}) for call, peer in self.talks(rank)]
        return [(NAMES[self.kind][1], {"Root": self.root} if self.kind in ROOTED else {})]

    def left(self, arrived: tuple[int, ...]) -> tuple[int, ...]:
        """When each rank has its result."""
        return tuple(
            max(arrived[rank], *(arrived[k] for k in self.awaited(rank)), 0) + TRANSFER
            for rank in range(RANKS)
        )


Program = list[list[Part]]


def program(seed: int, kinds: tuple[str, ...]) -> Program:
    """Return the parts of every step, of which a sum of all ranks is the last.

    The first step has no beginning in the trace. In the others all ranks do the same work in
    another order, so that the peers' pace is that of the run without delay.
    """
    rng = random.Random(seed)
    times = [us(200 + 4 * k) for k in range(PARTS * (STEPS - 1))]
    drawn = zip(*(rng.sample(times, len(times)) for _ in range(RANKS)), strict=True)
    work = [*[(us(300),) * RANKS] * PARTS, *drawn]
    kind = [rng.choice(kinds) if (k + 1) % PARTS else "all_reduce" for k in range(len(work))]
    parts = [Part(k, rng.randrange(RANKS), mine) for k, mine in zip(kind, work, strict=True)]
    return [parts[at : at + PARTS] for at in range(0, len(parts), PARTS)]


def slowed(usual: Program) -> Program:
    def work(part: Part) -> tuple[int, ...]:
        return tuple(round(ns * (FACTOR if k == SLOW else 1)) for k, ns in enumerate(part.work))

    return [[replace(part, work=work(part)) for part in step] for step in usual]


# When each rank begins to compute, begins to communicate, and goes on.
Times = tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]


def played(step: list[Part], now: tuple[int, ...]) -> Iterator[tuple[Part, Times]]:
    for part in step:
        arrived = tuple(begun + ns for begun, ns in zip(now, part.work, strict=True))
        left = part.left(arrived)
        yield part, (now, arrived, left)
        now = left


def runs(steps: Program, tail: int) -> Iterator[list[tuple[Part, Times]]]:
    """Yield what happens in each step; after it a kernel that needs its sum may run."""
    now = (START,) * RANKS
    for step in steps:
        found = list(played(step, now))
        yield found
        now = tuple(ns + tail for ns in found[-1][1][2])


def length(steps: Program, tail: int, some: range) -> int:
    """Return how long consecutive steps take.

    All ranks begin to compute together. A step ends with its last kernel that is no communication:
    without one after the sum, a rank has done its work as it begins to communicate.
    """
    times = list(runs(steps, tail))
    begun, (_, arrived, left) = times[some[0]][0][1][0], times[some[-1]][-1][1]
    assert len(set(begun)) == 1
    return (max(left) + tail if tail else max(arrived)) - begun[0]


def called(export: Export, part: Part, rank: int, pid: int, at: int) -> tuple[int, int]:
    """Write the calls of one group; return when they launch their kernel."""

    def range_of(name: str, begin: int, end: int, **told: str) -> None:
        export.nvtx(name, begin, end, pid=pid, domain=NCCL, registered=True, **told)

    calls = part.calls(rank)
    if len(calls) > 1:
        range_of("ncclGroupStart", at, at + 200)
    for number, (name, told) in enumerate(calls):
        said = {"NCCL communicator ID": 0xABC, "Message size [bytes]": 1 << 20}
        text = json.dumps(said | {"No. of ranks": RANKS, "Rank": rank} | told)
        begin = at + 400 * (number + 1)
        range_of(name, begin, begin + (300 if len(calls) > 1 else us(4)), jsonText=text)
    last = at + 400 * (len(calls) + 1)
    if len(calls) > 1:
        range_of("ncclGroupEnd", last, last + us(4))
        return last + 500, last + 1_500
    return at + 900, at + 1_900


def written(steps: Program, tail: int, folder: Path) -> Path:
    """Write an export per rank, each with its own clock; the host is far ahead of its GPU."""
    for rank in range(RANKS):
        export, pid, off = Export(), 100 + rank, 1_000_000_007 * rank
        export.env(RANK=str(rank), WORLD_SIZE=str(RANKS))
        export.session(UTC + off)
        export.nvtx("NCCL", 0, None, pid=pid, kind=75, domain=NCCL)
        for number, step in enumerate(runs(steps, tail)):
            host = step[0][1][0][rank] - us(900) - off
            export.nvtx(f"step {number}", host, host + us(20) * PARTS, pid=pid)
            for part, times in step:
                begun, arrived, left = (ns[rank] - off for ns in times)
                launch = (host + us(2), host + us(4))
                export.kernel("gemm", begun, arrived, pid=pid, launch=launch)
                launch = called(export, part, rank, pid, host + us(6))
                name = KERNEL.format(NAMES[part.kind][0])
                export.kernel(name, arrived, left, pid=pid, stream=20, launch=launch)
                host += us(18)
            if tail:
                launch = (host + 100, host + us(1))
                export.kernel("adam", left, left + tail, pid=pid, launch=launch)
        export.nvtx(f"step {STEPS}", left + tail - us(900), None, pid=pid)
        export.write_sqlite(folder / f"rank{rank}.sqlite")
    return folder


def bound_and_gain(
    folder: Path, seed: int, kinds: tuple[str, ...], tail: int
) -> tuple[float, float]:
    """Return what the tool says that mending the slow rank gains per step, and what it gains."""
    usual = program(seed, kinds)
    slow = slowed(usual)
    result: dict[str, Any] = job_of(written(slow, tail, folder / "run"), folder).result
    (found,) = (item for item in result["stragglers"]["items"] if item["verdict"] == "straggler")
    assert found["rank"] == SLOW
    steps = result["walk"]["steps"]
    some = range(min(steps), max(steps) + 1)
    assert list(some) == steps
    assert steps[0] > 0
    gain = length(slow, tail, some) - length(usual, tail, some)
    return found["gain_bound_ns_per_step"], gain / len(steps)


CASES = [(("broadcast", "scatter"), TAIL), (("reduce", "gather"), 0), (SENDS, TAIL)]


@pytest.mark.parametrize(
    ("kinds", "tail", "seed"),
    [*((*case, seed) for case in CASES for seed in range(3)), (MIX, 0, 1)],
)
def test_the_bound_is_what_the_job_gains(
    tmp_path: Path, kinds: tuple[str, ...], tail: int, seed: int
) -> None:
    bound, gain = bound_and_gain(tmp_path, seed, kinds, tail)
    assert bound == pytest.approx(gain, rel=0.01)
