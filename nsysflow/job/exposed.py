"""Exposed communication of a lane, cut at last arrivals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsysflow.job.lanes import NEVER, Flags, Ints, JobLane
from nsysflow.job.table import read_table
from nsysflow.model import EXPOSED_COMM_PARTS

PART = {name: code for code, name in enumerate(EXPOSED_COMM_PARTS)}


@dataclass(frozen=True)
class Exposed:
    """Stretches of exposed communication by time: ``op`` is a position in Ops.

    ``whole_ns`` is the length of the stretch that a part was cut from.
    """

    op: Ints
    step: Ints
    start: Ints
    end: Ints
    gated: Flags
    whole_ns: Ints


def read_exposed(lane: JobLane, first_op: int) -> Exposed:
    """Read a lane's stretches; its ops begin at ``first_op`` in Ops."""
    table = read_table(lane.folder / "exposed_piece.parquet")
    step, start, end = (
        table[name].to_numpy().astype(np.int64) for name in ("step", "start_ns", "end_ns")
    )
    op = table["op_no"].to_numpy().astype(np.int64) + first_op
    return Exposed(op, step, start, end, table["gated"].to_numpy(zero_copy_only=False), end - start)


def cut(exposed: Exposed, until: Ints, bubble: Flags) -> tuple[Exposed, Ints]:
    """Cut every stretch at the end of its op's waiting; return the parts and what each is.

    Args:
        exposed: stretches of one lane.
        until: per op, the end of its waiting; NEVER where it could not be split.
        bubble: per op, whether its waiting is the pipeline's.
    """
    split = until[exposed.op]
    known = split != NEVER
    middle = np.clip(np.where(known, split, exposed.start), exposed.start, exposed.end)
    is_wait = np.concatenate([np.ones(len(middle), np.bool_), np.zeros(len(middle), np.bool_)])
    both = Exposed(
        np.concatenate([exposed.op, exposed.op]),
        np.concatenate([exposed.step, exposed.step]),
        np.concatenate([exposed.start, middle]),
        np.concatenate([middle, exposed.end]),
        np.concatenate([exposed.gated, exposed.gated]),
        np.concatenate([exposed.whole_ns, exposed.whole_ns]),
    )
    late = np.where(both.gated, 0, 1)
    part = np.where(is_wait, PART["wait_gated"], PART["transfer_gated"]) + late
    part = np.where(
        known[np.arange(len(part)) % max(1, len(middle))], part, PART["unsplit_gated"] + late
    )
    part = np.where(is_wait & bubble[both.op], PART["pipeline_bubble"], part)
    some = np.flatnonzero(both.end > both.start)
    some = some[np.argsort(both.start[some], kind="stable")]
    taken = Exposed(
        op=both.op[some],
        step=both.step[some],
        start=both.start[some],
        end=both.end[some],
        gated=both.gated[some],
        whole_ns=both.whole_ns[some],
    )
    return taken, part[some].astype(np.int64)


def sums(parts: Exposed, part: Ints) -> dict[str, int]:
    """Return the time of every part."""
    total = np.zeros(len(EXPOSED_COMM_PARTS), np.int64)
    np.add.at(total, part, parts.end - parts.start)
    return {name: int(total[code]) for name, code in PART.items()}
