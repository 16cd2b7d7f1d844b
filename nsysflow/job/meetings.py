"""Who has to come before a collective ends, op by op, in the order in which they are played again.

Where all members wait for all they meet once and leave together. Of a broadcast each rank meets the
root alone, of a reduction the root meets all and the others nobody; a send or receive meets its own
peers. Who came before its root in the trace need not do so if it is mended, so it is not enough to
know who waited.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nsysflow.job.lanes import NEVER, NONE, OP, Flags, Ints
from nsysflow.job.study import Study
from nsysflow.job.talks import PAIR
from nsysflow.job.waits import ALL_WAIT, FROM_ROOT, TO_ROOT, root_op


@dataclass(frozen=True)
class Meetings:
    """A row per meeting and op, by the meetings' order; ``at`` numbers them.

    The ops that it ``lets`` go end as soon as all of its ops have begun.
    """

    op: Ints
    at: Ints
    lets: Flags

    def take(self, some: Flags) -> Meetings:
        """Return only some rows, numbered without gaps."""
        at = self.at[some]
        return Meetings(self.op[some], np.unique(at, return_inverse=True)[1], self.lets[some])


def together(study: Study) -> Flags:
    """Return for every instance whether each of its members waits for all of them."""
    members, kind = study.members, study.ops["op"][study.members.op]
    pair = (kind == OP["send_recv"]) & (members.size[members.at] == PAIR)
    known = study.waits.unsplit[members.op] == NONE
    every = (np.isin(kind, ALL_WAIT) | pair) & known
    found: Flags = members.least(every.astype(np.int64)).astype(bool)
    return found


def meetings(study: Study) -> Meetings:
    """Return the meetings of all ops of which it is known whom they wait for."""
    members = study.members
    all_leave = together(study)[members.at] if len(members.op) else np.zeros(0, np.bool_)
    apart, mine, other = _apart(study, np.flatnonzero(~all_leave))
    count = len(members.first)
    number = np.full(len(study.ops), NONE, np.int64)
    number[apart] = count + np.arange(len(apart))
    op = np.concatenate([members.op[all_leave], apart, other])
    at = np.concatenate([members.at[all_leave], number[apart], number[mine]])
    lets = np.arange(len(op)) < len(op) - len(other)
    begun = study.waits.start[op]
    # All that a meeting needs has ended before the last of its ops begins.
    last = np.full(count + len(apart), NEVER, np.int64)
    np.maximum.at(last, at, begun)
    order = np.lexsort((at, last[at]))
    place = np.cumsum(np.diff(at[order], prepend=NONE) != 0) - 1
    return Meetings(op[order], place, lets[order])


def _apart(study: Study, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the ops that leave alone, then by pairs: the op, and another that it waits for."""
    members, talks, kind = study.members, study.found.talks, study.ops["op"]
    rows = rows[study.waits.until[members.op[rows]] != NEVER]
    op, at = members.op[rows], members.at[rows]
    root = root_op(study.ops, members)[at]
    talking = talks.asked[op] > 0
    from_root, to_root = np.isin(kind[op], FROM_ROOT), np.isin(kind[op], TO_ROOT)
    of_root = ~talking & from_root
    of_all = ~talking & ~from_root & (~to_root | (op == root))
    said = np.isin(talks.one, op[talking])
    size = members.size[at[of_all]]
    # The rows of the whole instance, for each op of it that waits for all.
    skip = np.repeat(members.first[at[of_all]] - (np.cumsum(size) - size), size)
    whole = members.op[skip + np.arange(len(skip))]
    one = np.concatenate([op[of_root], np.repeat(op[of_all], size), talks.one[said]])
    other = np.concatenate([root[of_root], whole, talks.other[said]])
    return op, one[one != other], other[one != other]
