"""What held a lane up: of the collectives that ran meanwhile the one that ended as it went on.

An instant at which several run belongs to the one that ends last. A lane may go on long before: a
gather for the next layer still runs while the sum that this layer needs is there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsysflow.job.exposed import Exposed, read_exposed
from nsysflow.job.lanes import NONE, Flags, Ints
from nsysflow.job.study import Study

# Work that was asked for in time and starts so soon after other work ended had waited for that.
SOON_NS = 5_000


@dataclass(frozen=True)
class Turns:
    """A row per stretch in which a lane was held up, by time: it went on at ``end``.

    ``op`` is the last collective that ended meanwhile, NONE if none did: then the lane did not wait
    for any. ``soon``: it ended right before the lane went on. ``other`` is the one that ended
    before it, if right before the lane went on as well: the lane may have waited for that; else
    ``op``. ``late``: the host was late too for a part of the stretch. ``of`` tells for every piece
    of exposed communication its stretch.
    """

    begin: Ints
    end: Ints
    op: Ints
    other: Ints
    soon: Flags
    late: Flags
    of: Ints


def turns(study: Study, lane: int) -> tuple[Exposed, Turns]:
    """Return a lane's exposed communication, and what held it up in each stretch."""
    first = int(study.first_op[lane])
    exposed = read_exposed(study.lanes[lane], first)
    if not len(exposed.op):
        none: Flags = np.zeros(0, np.bool_)
        ops = exposed.op
        return exposed, Turns(exposed.start, exposed.end, ops, ops, none, none, ops)
    apart: Flags = exposed.start[1:] != exposed.end[:-1]
    begin, end = exposed.start[np.append(True, apart)], exposed.end[np.append(apart, True)]
    of = np.append(0, np.cumsum(apart))
    late = np.zeros(len(begin), np.bool_)
    late[of[~exposed.gated]] = True
    last = int(study.first_op[lane + 1]) if lane + 1 < len(study.lanes) else len(study.ops)
    mine = first + np.argsort(study.ops["end_ns"][first:last], kind="stable")
    ended = study.ops["end_ns"][mine]
    place = np.maximum(0, np.searchsorted(ended, end, side="right") - 1)
    inside = (ended[place] >= begin) & (ended[place] <= end)
    op = np.where(inside, mine[place], NONE)
    soon = inside & (ended[place] >= end - SOON_NS)
    before = np.maximum(0, place - 1)
    as_soon = soon & (before < place) & (ended[before] >= np.maximum(begin, end - SOON_NS))
    return exposed, Turns(begin, end, op, np.where(as_soon, mine[before], op), soon, late, of)
