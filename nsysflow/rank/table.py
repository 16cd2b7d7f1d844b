"""From the captures of a run to its rank table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from nsysflow.natural import natural_key
from nsysflow.rank import evidence as weighing
from nsysflow.rank import jobs
from nsysflow.rank.filename import named_rank, regex_rank
from nsysflow.rank.gpu import gpu_of, identity
from nsysflow.rank.labels import labelled
from nsysflow.rank.lane import Lane, RankTable, Seat
from nsysflow.rank.times import UNKNOWN, clusters
from nsysflow.rank.usermap import mapped_ranks
from nsysflow.settings import Settings

# Lines about files before the rest is only counted.
MOST_DOUBTS = 20


def rank_table(
    captures: Sequence[dict[str, Any]], settings: Settings, failed: Sequence[str] = ()
) -> RankTable:
    """Return who is who among the lanes of all captures, as ``load_captures`` gives them.

    ``failed`` are the files without a usable trace, whose names may still tell a missing rank.
    Raises UsageError for a rank map that does not fit.
    """
    # A capture without GPU work is no rank, and its time must not join those of two jobs.
    captures = sorted(
        (capture for capture in captures if capture.get("lanes")),
        key=lambda capture: natural_key(str(capture["file"])),
    )
    times = clusters(captures)
    seats = [
        seat
        for capture, cluster in zip(captures, times, strict=True)
        for seat in _seats(capture, cluster)
    ]
    found = weighing.gather(list(zip(times, captures, strict=True)), seats, settings.rank_regex)
    lanes = _lanes(seats, found, settings)
    return _table(lanes, seats, found, settings, failed)


def _seats(capture: dict[str, Any], cluster: int) -> list[Seat]:
    rows = sorted(capture.get("lanes") or [], key=lambda row: int(row["lane"]))
    return [
        Seat(
            capture,
            int(row["lane"]),
            int(row["process"]),
            int(row["pid"]),
            int(row["device"]),
            cluster,
            int(row.get("ops") or 0),
        )
        for row in rows
    ]


def _lanes(seats: Sequence[Seat], found: weighing.Evidence, settings: Settings) -> list[Lane]:
    mapped = mapped_ranks(settings.rank_map, seats)
    hosts = _host_labels(seats, redact=settings.redact)
    gpus = {seat.key: gpu_of(seat) for seat in seats}
    lanes = []
    for seat in seats:
        rank, source, others = _rank(seat, found, mapped)
        gpu, gpu_source = gpus[seat.key]
        lanes.append(
            Lane(
                trace=seat.key[0],
                lane=seat.lane,
                label="",
                rank=rank,
                rank_source=source,
                file=seat.file,
                host=hosts.get(_host(seat)),
                pid=seat.pid,
                device=seat.device,
                gpu=gpu,
                gpu_source=gpu_source,
                others=others,
                shared_gpu=False,
                ops=seat.ops,
            )
        )
    shared = _sharing(seats, lanes)
    alone = len(lanes) == 1
    return [
        replace(lane, shared_gpu=(lane.trace, lane.lane) in shared, alone=alone) for lane in lanes
    ]


def _rank(
    seat: Seat, found: weighing.Evidence, mapped: Mapping[tuple[str, int], int]
) -> tuple[int | None, str, tuple[tuple[str, int], ...]]:
    claims = [(claim.source, claim.rank) for claim in found.claims(seat)]
    if seat.key in mapped:
        claims.insert(0, ("user", mapped[seat.key]))
    if not claims:
        alone = seat.key[0] in found.alone
        return None, "unknown" if alone else "process", ()
    (source, rank), *weaker = claims
    return rank, source, tuple((other, number) for other, number in weaker if number != rank)


def _host(seat: Seat) -> str:
    return str(seat.capture.get("host") or "")


def _host_labels(seats: Sequence[Seat], *, redact: bool) -> dict[str, str]:
    hosts = sorted({_host(seat) for seat in seats} - {""}, key=natural_key)
    return {host: f"host-{n}" if redact else host for n, host in enumerate(hosts, start=1)}


def _sharing(seats: Sequence[Seat], lanes: Sequence[Lane]) -> set[tuple[str, int]]:
    """Return the lanes whose GPU another process used too, as far as that is certain."""
    users: dict[tuple[str, str], list[int]] = {}
    for index, (seat, lane) in enumerate(zip(seats, lanes, strict=True)):
        where = identity(_host(seat), lane.trace, lane.gpu)
        # With CUDA_VISIBLE_DEVICES every process calls its GPU 0, so cuDevice proves nothing here.
        if where is not None and lane.gpu_source != "cu_device":
            users.setdefault(where, []).append(index)
    return {
        seats[one].key
        for group in users.values()
        for one in group
        if any(_together(seats, lanes, one, two) for two in group)
    }


def _together(seats: Sequence[Seat], lanes: Sequence[Lane], one: int, two: int) -> bool:
    first, second = seats[one], seats[two]
    if first.owner == second.owner:
        return False
    if first.key[0] == second.key[0]:
        return True
    if UNKNOWN in (first.cluster, second.cluster):
        # One rank twice on one GPU is the same process captured twice, not two at once.
        return lanes[one].rank is None or lanes[one].rank != lanes[two].rank
    return first.cluster == second.cluster


def _order(lane: Lane) -> tuple[Any, ...]:
    unknown = lane.rank is None
    return unknown, lane.rank or 0, natural_key(lane.file), lane.pid, lane.device, lane.lane


def _table(
    lanes: list[Lane],
    seats: Sequence[Seat],
    found: weighing.Evidence,
    settings: Settings,
    failed: Sequence[str],
) -> RankTable:
    hosts = _host_labels(seats, redact=settings.redact)
    lanes = sorted(labelled(lanes, hosts), key=_order)
    twice = jobs.conflicts(lanes, {seat.key: seat.process for seat in seats})
    worlds = _worlds(seats, found)
    several = jobs.several_jobs(lanes, twice, worlds, {seat.file: seat.cluster for seat in seats})
    lanes = [replace(lane, captured=None if several else len(lanes)) for lane in lanes]
    ranks = {lane.rank for lane in lanes if lane.rank is not None}
    unknown = {(lane.trace, lane.pid) for lane in lanes if lane.rank is None}
    expected = None if several else jobs.expected_ranks(set(worlds.values()), ranks, len(unknown))
    named = {_failed_rank(file, settings) for file in failed} - ranks - {None}
    # A rank that cannot be told may be the one that seems to be missing.
    missing = None if several or unknown else jobs.missing_ranks(ranks, expected, named)
    return RankTable(
        lanes=tuple(lanes),
        conflicts=tuple(twice),
        missing_ranks=missing,
        ranks_expected=expected,
        ranks_usable=len({(lane.trace, lane.pid, lane.rank) for lane in lanes}),
        several_jobs=several,
        notes=(*_doubts(seats), *found.notes, *_disagreements(lanes)),
        hosts=hosts,
    )


def _doubts(seats: Sequence[Seat]) -> list[str]:
    """Return what makes the numbers of a file doubtful, the first of many."""
    captures = {seat.file: seat.capture for seat in seats}
    told = [
        f"{file}: {text}" for file, each in captures.items() for text in each.get("doubts") or ()
    ]
    more = [f"{len(told) - MOST_DOUBTS} more lines of this kind"] if len(told) > MOST_DOUBTS else []
    return told[:MOST_DOUBTS] + more


def _worlds(seats: Sequence[Seat], found: weighing.Evidence) -> dict[str, int]:
    """Return file -> ranks of its job, for the files that tell."""
    worlds: dict[str, int] = {}
    for seat in seats:
        claim = found.nccl.get(seat.key)
        sizes = [found.world_size(seat.capture), claim.world if claim else None]
        known = [size for size in sizes if size is not None]
        if known:
            worlds[seat.file] = max(known)
    return worlds


def _failed_rank(file: str, settings: Settings) -> int | None:
    return regex_rank(file, settings.rank_regex) if settings.rank_regex else named_rank(file)


def _disagreements(lanes: Sequence[Lane]) -> list[str]:
    words = {"mpi": "MPI", "nccl": "NCCL", "env": "the environment", "filename": "the file name"}
    return [
        f"{lane.label}: rank {lane.rank} by {words[lane.rank_source]}, "
        f"but {words[source]} says {rank}"
        for lane in lanes
        if lane.rank_source != "user"
        for source, rank in lane.others
    ]
