"""What a capture lacks so much of that its numbers mislead: said before any of them is read."""

from __future__ import annotations

from nsysflow.convert.requests import KERNEL
from nsysflow.convert.work import Work
from nsysflow.errors import InputError

# Rows lost here and there change no number that anyone acts on.
NOTABLE = 0.01


def doubts(work: Work) -> list[str]:
    """Return a sentence for each kind of device rows that is lost or cannot be told apart.

    Raises:
        InputError: of the kernels recorded none has usable times.
    """
    work.create("doubt", "_doubt")
    found = work.connection.execute("FROM _doubt").fetchall()
    kernels, lost, graphs, others, others_lost, unnamed = (int(number) for number in found[0])
    if kernels and lost == kernels:
        raise InputError(
            f"{work.raw.file}: none of its {kernels:,} kernels has usable times in {KERNEL}",
            stage="convert",
            hint="export the report again",
        )
    told = []
    if not kernels and not graphs:
        told.append("no kernels are in this capture: what the GPU computed is not known")
    if lost > NOTABLE * kernels:
        told.append(f"{lost:,} of {kernels:,} kernels have no usable times: idle time is too long")
    if others_lost > NOTABLE * others:
        told.append(f"{others_lost:,} of {others:,} copies and sets have no usable times")
    if graphs:
        work.create("graph_lost", "_graph_lost")
        launches, replays = work.connection.execute("FROM _graph_lost").fetchall()[0]
        if replays > NOTABLE * launches:
            told.append(
                f"{replays:,} of {launches:,} graph launches left no row of what they ran: "
                "idle time is too long"
            )
    if unnamed > NOTABLE * kernels:
        told.append(
            f"the names of {unnamed:,} of {kernels:,} kernels are missing: "
            "communication among them counts as compute"
        )
    return told


def unrecognised(work: Work, ranks: int | None) -> list[str]:
    """Return a sentence if there are signs of communication, and no device work that is known to.

    ``ranks`` is the size of the job, None if the capture does not tell.
    """
    work.create("comm_doubt", "_comm_doubt")
    calls, kernels, known = work.connection.execute("FROM _comm_doubt").fetchall()[0]
    if known or not kernels or not (calls or (ranks or 1) > 1):
        return []
    sign = f"{calls:,} NCCL calls were recorded" if calls else f"the job has {ranks:,} ranks"
    return [
        f"{sign}, but no kernel is known as communication: if one is, it counts as compute until "
        "nsysflow.toml names it under [kernels] comm"
    ]
