"""The shapes that pass between the steps of the rank table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Lane:
    """One GPU as used by one process.

    ``trace`` is its folder under store/, ``lane`` its number there; ``host`` is already the label
    to show. ``gpu_source``: cuda_device | only_gpu | cu_device, None where the GPU cannot be told.
    ``others`` are what weaker evidence says instead, as (source, rank); ``alone``: the run has no
    other lane, so that what is true of it is true of the job. ``captured``: how many
    lanes the run has, None where they are several jobs. ``ops`` counts its device work.
    """

    trace: str
    lane: int
    label: str
    rank: int | None
    rank_source: str
    file: str
    host: str | None
    pid: int
    device: int
    gpu: dict[str, Any] | None
    gpu_source: str | None
    shared_gpu: bool
    others: tuple[tuple[str, int], ...] = ()
    alone: bool = False
    captured: int | None = None
    ops: int = 0


@dataclass(frozen=True)
class RankTable:
    """All lanes of a run, known ranks first, and what is wrong with them as a set.

    ``conflicts``: {rank, labels, sources} of every rank that two processes claim.
    ``ranks_usable`` counts a process once however many GPUs it has, unless each is a rank.
    ``notes`` are lines a person should read: evidence that disagrees, evidence not used.
    ``hosts``: recorded host name -> the label to show, also for ``Masker``.
    """

    lanes: tuple[Lane, ...]
    conflicts: tuple[dict[str, Any], ...]
    missing_ranks: list[int] | None
    ranks_expected: int | None
    ranks_usable: int
    several_jobs: str | None
    notes: tuple[str, ...] = ()
    hosts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Seat:
    """A lane before anything is known about it. ``gpu_pids`` of its file; ``cluster`` in time."""

    capture: dict[str, Any] = field(repr=False)
    lane: int
    process: int
    pid: int
    device: int
    cluster: int
    ops: int = 0

    @property
    def file(self) -> str:
        """Return the file this lane was recorded in."""
        return str(self.capture["file"])

    @property
    def owner(self) -> tuple[str, int]:
        """Return (trace, process): what a rank is a property of, when it is of more than a lane."""
        return str(self.capture["trace"]), self.process

    @property
    def key(self) -> tuple[str, int]:
        """Return (trace, lane), unique in a run."""
        return str(self.capture["trace"]), self.lane


@dataclass(frozen=True)
class Claim:
    """One piece of evidence: ``rank`` of ``world`` ranks, if it tells that."""

    source: str
    rank: int
    world: int | None = None
