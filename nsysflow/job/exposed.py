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
        exposed: stretches of one lane, by time and apart.
        until: per op, the end of its waiting; NEVER where it could not be split.
        bubble: per op, whether its waiting is the pipeline's.
    """
    split = until[exposed.op]
    known = split != NEVER
    middle = np.clip(np.where(known, split, exposed.start), exposed.start, exposed.end)
    # Stretches are apart, so that each one's two parts side by side are in the order of time.
    start = np.stack([exposed.start, middle], axis=1).reshape(-1)
    end = np.stack([middle, exposed.end], axis=1).reshape(-1)
    some = np.flatnonzero(end > start)
    of, is_wait = some // 2, some % 2 == 0
    op = exposed.op[of]
    part = np.where(is_wait, PART["wait_gated"], PART["transfer_gated"])
    part = np.where(known[of], part, PART["unsplit_gated"]) + ~exposed.gated[of]
    part = np.where(is_wait & bubble[op], PART["pipeline_bubble"], part)
    taken = Exposed(
        op, exposed.step[of], start[some], end[some], exposed.gated[of], exposed.whole_ns[of]
    )
    return taken, part


def sums(parts: Exposed, part: Ints) -> dict[str, int]:
    """Return the time of every part."""
    total = np.zeros(len(EXPOSED_COMM_PARTS), np.int64)
    np.add.at(total, part, parts.end - parts.start)
    return {name: int(total[code]) for name, code in PART.items()}
