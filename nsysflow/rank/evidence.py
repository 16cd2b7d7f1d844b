"""What a trace itself says about ranks: MPI, NCCL communicators, environment, file name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from nsysflow.rank.filename import counted_ranks, named_rank, regex_other, regex_rank
from nsysflow.rank.lane import Claim, Seat
from nsysflow.rank.times import UNKNOWN

# In order of trust: what the framework set for this very process, then what the launcher set,
# which under a second launcher (torchrun below srun) numbers nodes instead of ranks.
_VARIABLES = (
    ("RANK", ("WORLD_SIZE",)),
    ("HOROVOD_RANK", ("HOROVOD_SIZE",)),
    ("OMPI_COMM_WORLD_RANK", ("OMPI_COMM_WORLD_SIZE",)),
    ("MV2_COMM_WORLD_RANK", ("MV2_COMM_WORLD_SIZE",)),
    ("PMIX_RANK", ("PMIX_SIZE", "OMPI_COMM_WORLD_SIZE")),
    ("PMI_RANK", ("PMI_SIZE",)),
    ("PALS_RANKID", ("PMI_SIZE",)),
    ("JSM_NAMESPACE_RANK", ("JSM_NAMESPACE_SIZE",)),
    ("FLUX_TASK_RANK", ("FLUX_JOB_SIZE",)),
    ("ALPS_APP_PE", ()),
    ("SLURM_PROCID", ("SLURM_NTASKS", "SLURM_NPROCS")),
)


@dataclass
class Evidence:
    """All claims of a run.

    ``alone`` are the traces with a single GPU process, which file-wide evidence can be about;
    ``notes`` say what was not used, and why.
    """

    regex: str | None
    alone: set[str] = field(default_factory=set)
    nccl: dict[tuple[str, int], Claim] = field(default_factory=dict)
    counted: dict[str, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def claims(self, seat: Seat) -> list[Claim]:
        """Return the claims on one lane, the most trusted first."""
        found = [_mpi(seat), self.nccl.get(seat.key)]
        if str(seat.capture["trace"]) in self.alone:
            found += [environment(seat.capture), self.file_name(seat.capture)]
        return [claim for claim in found if claim is not None]

    def world_size(self, capture: Mapping[str, Any]) -> int | None:
        """Return the ranks of the whole job, as far as the environment can know them."""
        values = _ranks(capture).get("env") or {}
        if not values and not _ranks(capture).get("nccl"):
            return _number(_ranks(capture).get("world_size"))
        # A launcher above several processes may have a size of its own: the number of nodes.
        alone = str(capture["trace"]) in self.alone
        claim = environment(capture) if alone else None
        return (claim.world if claim else None) or _number(values.get("WORLD_SIZE"))

    def file_name(self, capture: Mapping[str, Any]) -> Claim | None:
        """Return the rank in the name of a capture's file, else of the report it was made from."""
        for name in _file_names(capture):
            rank = regex_rank(name, self.regex) if self.regex else named_rank(name)
            if rank is not None:
                return Claim("filename", rank)
        counted = None if self.regex else self.counted.get(str(capture["trace"]))
        return None if counted is None else Claim("filename", counted)


def gather(
    captures: Sequence[tuple[int, dict[str, Any]]], seats: Sequence[Seat], regex: str | None
) -> Evidence:
    """Weigh the evidence of all captures, (cluster in time, capture), against each other."""
    evidence = Evidence(regex)
    owners: dict[str, set[int]] = {}
    for seat in seats:
        owners.setdefault(str(seat.capture["trace"]), set()).add(seat.process)
    evidence.alone = {trace for trace, processes in owners.items() if len(processes) == 1}
    evidence.counted = counted_ranks(
        (cluster, capture)
        for cluster, capture in captures
        if str(capture["trace"]) in evidence.alone
    )
    _weigh_nccl(evidence, seats)
    evidence.notes += _passed_over([capture for _, capture in captures], evidence)
    return evidence


def _passed_over(captures: Sequence[Mapping[str, Any]], evidence: Evidence) -> list[str]:
    """Return lines on the files in whose name the user's pattern finds no rank."""
    pattern = evidence.regex
    if pattern is None:
        return []
    odd: dict[str, str] = {}
    bare: list[str] = []
    shared: list[str] = []
    for capture in captures:
        if str(capture["trace"]) not in evidence.alone:
            shared.append(str(capture["file"]))
            continue
        if evidence.file_name(capture) is not None:
            continue
        others = (regex_other(name, pattern) for name in _file_names(capture))
        other = next((found for found in others if found is not None), None)
        if other is None:
            bare.append(str(capture["file"]))
        else:
            odd.setdefault(str(capture["file"]), other)
    said = next(iter(odd.values()), "")
    # Where the capture itself tells the rank, nobody would see that the pattern did not.
    told = (
        (list(odd), f"--rank-regex finds {said!r}, no number of up to 7 digits"),
        (bare, "--rank-regex finds nothing in its name"),
        (shared, "--rank-regex is not asked: the file holds several GPU processes"),
    )
    return [f"{files[0]}: {text}{_also(len(files) - 1)}" for files, text in told if files]


def _also(more: int) -> str:
    return f"; so in {more} more file{'s' * (more > 1)}" if more else ""


def _file_names(capture: Mapping[str, Any]) -> tuple[str, str]:
    return str(capture["file"]), str(_ranks(capture).get("input_name") or "")


def environment(capture: Mapping[str, Any]) -> Claim | None:
    """Return the rank in the recorded environment of a capture's root process."""
    values = _ranks(capture).get("env") or {}
    for name, sizes in _VARIABLES:
        rank = _number(values.get(name))
        world = next((size for key in sizes if (size := _number(values.get(key)))), None)
        if rank is not None and (world is None or rank < world):
            return Claim("env", rank, world)
    return None


def _ranks(capture: Mapping[str, Any]) -> Mapping[str, Any]:
    return capture.get("rank_evidence") or {}


def _number(value: object) -> int | None:
    text = str(value).strip().strip('"')
    return int(text) if text.isascii() and text.isdigit() and len(text) < 8 else None  # noqa: PLR2004


def _mpi(seat: Seat) -> Claim | None:
    ranks = {
        rank
        for row in _ranks(seat.capture).get("mpi") or []
        if row.get("pid") == seat.pid and (rank := _number(row.get("rank"))) is not None
    }
    return Claim("mpi", ranks.pop()) if len(ranks) == 1 else None


def _weigh_nccl(evidence: Evidence, seats: Sequence[Seat]) -> None:
    """Keep NCCL ranks only where they are ranks of the whole job.

    A capture that begins late shows the communicators of parallel groups only, each with a rank 0.
    """
    lanes = Counter(seat.owner for seat in seats)
    largest = {seat.key: rows for seat in seats if (rows := _largest(seat, lanes[seat.owner]))}
    for group in _together([seat for seat in seats if seat.key in largest], largest):
        if _is_split(group, largest):
            evidence.notes.append(
                "NCCL ranks are not used: the communicators recorded are of groups, not of the job"
            )
            continue
        sizes = [int(largest[seat.key][0]["ranks"]) for seat in group]
        world = max(*sizes, *(evidence.world_size(seat.capture) or 0 for seat in group))
        for seat, size in zip(group, sizes, strict=True):
            rank = _agreed(largest[seat.key])
            if rank is not None and size == world:
                evidence.nccl[seat.key] = Claim("nccl", rank, world)


def _agreed(rows: Sequence[Mapping[str, Any]]) -> int | None:
    ranks = {_number(row.get("rank")) for row in rows}
    return ranks.pop() if len(ranks) == 1 else None


def _together(
    seats: Sequence[Seat], largest: Mapping[tuple[str, int], list[Mapping[str, Any]]]
) -> list[list[Seat]]:
    """Return the lanes that may be of one job: recorded at the same time.

    Where the time is unknown, a file that holds every rank of its communicator stands for itself.
    """
    ranks: dict[str, set[int | None]] = {}
    for seat in seats:
        ranks.setdefault(seat.key[0], set()).add(_agreed(largest[seat.key]))
    groups: dict[tuple[int, str], list[Seat]] = {}
    for seat in seats:
        trace = seat.key[0]
        whole = len(ranks[trace] - {None}) == int(largest[seat.key][0]["ranks"])
        apart = seat.cluster == UNKNOWN and whole
        groups.setdefault((seat.cluster, trace if apart else ""), []).append(seat)
    return [groups[key] for key in sorted(groups)]


def _largest(seat: Seat, lanes_of_process: int) -> list[Mapping[str, Any]]:
    """Return the rows of the largest communicators that this lane is in."""
    rows = [row for row in _ranks(seat.capture).get("nccl") or [] if row.get("pid") == seat.pid]
    own = [row for row in rows if row.get("device") == seat.device]
    if not own and lanes_of_process == 1:
        own = rows
    sized = [row for row in own if (_number(row.get("ranks")) or 0) > 1]
    most = max((int(row["ranks"]) for row in sized), default=0)
    return [row for row in sized if int(row["ranks"]) == most]


def _is_split(
    group: Sequence[Seat], largest: Mapping[tuple[str, int], list[Mapping[str, Any]]]
) -> bool:
    """Return whether lanes recorded together share no communicator of the largest size."""
    most = max((int(largest[seat.key][0]["ranks"]) for seat in group), default=0)
    named = [
        {str(row["comm"]) for row in largest[seat.key] if row.get("comm")}
        for seat in group
        if int(largest[seat.key][0]["ranks"]) == most
    ]
    named = [names for names in named if names]
    return bool(named) and not set.intersection(*named)
