"""Which NVTX ranges enclose which, and which range a call was made in.

The one interval algorithm outside SQL: nesting asks for "the nearest earlier range that ends
later", which a window function cannot say, and a join by time does not survive ten million ranges.
The arrays of one chunk of one thread are held at a time.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nsysflow.analyse.crossing import Crossed, crossed

Ints = npt.NDArray[np.int64]

# Ranges deeper than this are a program that forgets to pop; they count for their ancestor.
DEEPEST = 64
# Paths beyond this are texts that no reader can list; they count for their parent.
MOST_PATHS = 500_000
OUTSIDE = -1


@dataclass
class Paths:
    """A growing tree of names. Path ``i`` is ``name[i]`` under ``parent[i]`` (-1 for none)."""

    parent: list[int] = field(default_factory=list)
    name: list[int] = field(default_factory=list)
    _known: dict[tuple[int, int], int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return how many paths there are."""
        return len(self.parent)

    def child(self, parent: int, name: int) -> int:
        """Return the path of ``name`` under ``parent``; ``parent`` once there are too many."""
        key = (parent, name)
        if key not in self._known:
            if len(self.parent) >= MOST_PATHS and parent != OUTSIDE:
                return parent
            self._known[key] = len(self.parent)
            self.parent.append(parent)
            self.name.append(name)
        return self._known[key]

    def children(self, parents: Ints, names: Ints) -> Ints:
        """Return ``child`` of each pair, asking once per distinct pair."""
        if not len(parents):
            return parents
        # One integer per pair sorts ten times faster than the pairs themselves.
        distinct, where = np.unique(((parents + 1) << 32) | names, return_inverse=True)
        pairs = [((int(key) >> 32) - 1, int(key) & 0xFFFFFFFF) for key in distinct]
        return np.array([self.child(*pair) for pair in pairs], dtype=np.int64)[where]


def enclosing(ends: Ints) -> Ints:
    """Return for each range the nearest earlier one that ends no sooner, or -1."""
    return nested(ends, ends)[0]


def nested(starts: Ints, ends: Ints) -> tuple[Ints, bool]:
    """Return for each range the nearest earlier one that ends no sooner, or -1; and if any cross.

    Ranges come by start, the longer first where starts are equal. All ranges between a range and
    its answer end sooner than it; keeping that true while every open question jumps along the
    answers so far halves the distance each round.
    """
    answer = np.arange(-1, len(ends) - 1, dtype=np.int64)
    asking = np.flatnonzero(answer >= 0)
    crossing = False
    while len(asking):
        asking = asking[ends[answer[asking]] < ends[asking]]
        crossing = crossing or bool((ends[answer[asking]] > starts[asking]).any())
        answer[asking] = answer[answer[asking]]
        asking = asking[answer[asking] >= 0]
    return answer, crossing


def depths(parents: Ints) -> Ints:
    """Return how many ranges enclose each."""
    depth = (parents >= 0).astype(np.int64)
    above = parents.copy()
    climbing = np.flatnonzero(above >= 0)
    while len(climbing):
        depth[climbing] += depth[above[climbing]]
        above[climbing] = above[above[climbing]]
        climbing = climbing[above[climbing] >= 0]
    return depth


@dataclass
class Thread:
    """The ranges of one thread, met chunk by chunk in the order of their starts.

    ``crossed`` are those that another one begins in and outlasts.
    ``roots`` gives the path under which each of the thread's outermost ranges hangs; -1 is the top.
    """

    paths: Paths
    crossed: list[Crossed] = field(default_factory=list)
    _starts: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    _ends: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    _path: Ints = field(default_factory=lambda: np.empty(0, np.int64))
    _parents: Ints = field(default_factory=lambda: np.empty(0, np.int64))

    def add(self, starts: Ints, ends: Ints, names: Ints, roots: Ints, since: int) -> Ints:
        """Take the next chunk and return the path of each of its ranges.

        ``roots[i]`` is the path that range ``i`` hangs under if nothing on its thread encloses it.
        ``since`` is when the chunk begins: maybe with what encloses nothing, and is not given.
        """
        open_still = self._ends > since
        carried = int(open_still.sum())
        self._starts = np.concatenate([self._starts[open_still], starts])
        self._ends = np.concatenate([self._ends[open_still], ends])
        known = self._path[open_still]
        self._parents, crossing = nested(self._starts, self._ends)
        self._path = np.concatenate([known, np.full(len(starts), OUTSIDE, np.int64)])
        depth = np.minimum(depths(self._parents), DEEPEST + 1)
        depth[:carried] = -1
        order = np.argsort(depth[carried:], kind="stable") + carried
        bounds = np.searchsorted(depth[order], np.arange(DEEPEST + 3))
        for level in range(DEEPEST + 1):
            some = order[bounds[level] : bounds[level + 1]]
            if len(some):
                above = self._parents[some]
                under = np.where(above >= 0, self._path[above], roots[some - carried])
                self._path[some] = self.paths.children(under, names[some - carried])
        self._collapse(order[bounds[DEEPEST + 1] :])
        if crossing:
            self.crossed.append(crossed(self._starts, self._ends, self._path))
        return self._path[carried:]

    def _collapse(self, deeper: Ints) -> None:
        # Outermost first, so that each finds its parent's path already settled.
        for one in np.sort(deeper):
            self._path[one] = self._path[self._parents[one]]

    def at(self, times: Ints) -> Ints:
        """Return the path of the innermost range around each time; -1 outside all.

        Only times from when this chunk begins until the next one does are answered rightly.
        """
        where = np.searchsorted(self._starts, times, side="right") - 1
        climbing = np.flatnonzero(where >= 0)
        while len(climbing):
            climbing = climbing[self._ends[where[climbing]] <= times[climbing]]
            where[climbing] = self._parents[where[climbing]]
            climbing = climbing[where[climbing] >= 0]
        inside = where >= 0
        found = np.full(len(times), OUTSIDE, np.int64)
        found[inside] = self._path[where[inside]]
        return found
