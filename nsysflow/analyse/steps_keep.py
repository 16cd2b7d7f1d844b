"""Keep whole steady steps; drop the others, and say why."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import Any

import numpy as np
import pyarrow as pa

from nsysflow.analyse.steps_cycle import Ints
from nsysflow.analyse.windows import Steps, Window
from nsysflow.shares import mean_ns, median_ns

LEAST_CONFIDENCE = 0.3
DISAGREE_CONFIDENCE = 0.5
UNSEEN_LEADING_GAP = 0.7
# Steps that must remain before the first, whose leading gap was not seen, can be spared.
SPARE = 3
# Less module loading, compiling or flushing than 1 % of a step does not spoil it.
SPOILS = 100
# Reasons in the order in which they are given. Some count from their first instant, others by time.
BEGUN = ("checkpoint", "eval", "profiler", "nccl_init", "graph_capture")
LASTING = ("jit_or_load", "profiler_flush")
AMORTISED = ("checkpoint", "eval")
# A share of steps without optimizer above this is no skipped update.
MICRO_BATCHES = 0.02


Asked = Callable[[Ints], Ints]


@dataclass(frozen=True)
class Happenings:
    """What the host did that makes a step unlike others: (reason, start, end), by start."""

    reason: tuple[str, ...]
    start: Ints
    end: Ints

    @classmethod
    def of(cls, table: pa.Table) -> Happenings:
        """Take the rows of step_event."""
        return cls(
            tuple(table["reason"].to_pylist()),
            table["start_ns"].to_numpy().astype(np.int64),
            table["end_ns"].to_numpy().astype(np.int64),
        )

    def only(self, reason: str) -> tuple[Ints, Ints]:
        """Return starts and ends of one kind."""
        mine = np.array([each == reason for each in self.reason], bool)
        return self.start[mine], self.end[mine]


def keep_or_drop(steps: Steps, happenings: Happenings, asked: Asked | None = None) -> Steps:
    """Drop what is not a whole steady step, mark outliers, and say so in the confidence.

    ``asked`` brings host times to the device where windows have no host range of their own.
    """
    windows = _without_disturbed(steps.windows, happenings, asked)
    steps = _without_unseen(replace(steps, windows=tuple(windows)))
    windows = _without_fragments(steps.windows)
    if not any(window.kept for window in windows):
        windows = [w if w.drop == "open" else replace(w, drop=None) for w in windows]
        steps = steps.capped(LEAST_CONFIDENCE).noting("no step is undisturbed, so all are kept")
    amortised = _amortised(windows)
    steps = replace(steps, windows=tuple(_with_outliers(windows)), amortised=amortised)
    return _micro_batches(steps)


def _without_disturbed(
    windows: Sequence[Window], happenings: Happenings, asked: Asked | None
) -> list[Window]:
    drops: dict[int, str] = {}
    begin, until = _hosts(windows)
    for reason in BEGUN:
        starts, _ = happenings.only(reason)
        for place in _places(begin, until, asked(starts) if asked else starts):
            drops.setdefault(int(place), reason)
    for reason in LASTING:
        low, high = _disjoint(*happenings.only(reason))
        lasted = (
            _moved(begin, until, low, high, asked) if asked else _inside(begin, until, low, high)
        )
        for place, ns in enumerate(lasted.tolist()):
            if ns and ns * SPOILS >= windows[place].length_ns:
                drops.setdefault(place, reason.removesuffix("_flush"))
    return [replace(window, drop=window.drop or drops.get(k)) for k, window in enumerate(windows)]


def _hosts(windows: Sequence[Window]) -> tuple[Ints, Ints]:
    """Return when each step was the host's, or its window where no host range is known."""
    starts = [w.host[0] for w in windows]
    ends = [w.end_ns if w.host_end_ns is None else w.host_end_ns for w in windows]
    return np.array(starts, np.int64), np.array(ends, np.int64)


def _places(begin: Ints, until: Ints, at: Ints) -> Ints:
    """Return which steps hold these instants; instants outside every step are left out."""
    place = np.searchsorted(begin, at, side="right") - 1
    inside = place >= 0
    inside[inside] = at[inside] < until[place[inside]]
    return place[inside].astype(np.int64)


def _disjoint(starts: Ints, ends: Ints) -> tuple[Ints, Ints]:
    """Return the union of stretches that come by start."""
    if not len(starts):
        return starts, ends
    reached = np.maximum.accumulate(np.concatenate([starts[:1], ends[:-1]]))
    low = np.maximum(starts, reached)
    new = low < ends
    return low[new], ends[new]


def _inside(begin: Ints, until: Ints, low: Ints, high: Ints) -> Ints:
    """Return for how long disjoint stretches cover each step."""
    total = np.concatenate([[0], np.cumsum(high - low)])

    def covered(at: Ints) -> Ints:
        k = np.searchsorted(low, at, side="right")
        over = np.maximum(0, np.append(high, 0)[k - 1] - at) * (k > 0)
        return np.asarray(total[k] - over, np.int64)

    return covered(until) - covered(begin)


def _moved(begin: Ints, until: Ints, low: Ints, high: Ints, asked: Asked) -> Ints:
    """Return the same by where on the device the next work that was launched lies."""
    lasted = np.zeros(len(begin), np.int64)
    for one, other in zip(low.tolist(), high.tolist(), strict=True):
        place = _places(begin, until, asked(np.array([one], np.int64)))
        lasted[place] += other - one
    return lasted


def _without_unseen(steps: Steps) -> Steps:
    windows = list(steps.windows)
    if not windows or "leading_gap_unseen" not in windows[0].flags or not windows[0].kept:
        return steps
    if sum(window.kept for window in windows[1:]) >= SPARE:
        windows[0] = replace(windows[0], drop="leading_gap_unseen")
        return replace(steps, windows=tuple(windows))
    return replace(steps, confidence=steps.confidence * UNSEEN_LEADING_GAP)


def _without_fragments(windows: Sequence[Window]) -> list[Window]:
    kept = [window for window in windows if window.kept]
    half_time = median([window.length_ns for window in kept]) / 2 if kept else 0
    half_ops = median([window.ops for window in kept]) / 2 if kept else 0
    return [
        replace(window, drop="fragment")
        if window.kept and (window.length_ns < half_time or window.ops < half_ops)
        else window
        for window in windows
    ]


def _with_outliers(windows: Sequence[Window]) -> list[Window]:
    lengths = [window.length_ns for window in windows if window.kept]
    middle = median_ns(lengths) or 0
    spread = median_ns([abs(length - middle) for length in lengths]) or 0
    # 5 scaled median absolute deviations, and never less than 20 %.
    limit = middle + max(5 * 1.4826 * spread, 0.2 * middle)
    return [
        replace(window, outlier=True, flags=(*window.flags, "outlier"))
        if window.kept and window.length_ns > limit
        else window
        for window in windows
    ]


def _amortised(windows: Sequence[Window]) -> tuple[dict[str, Any], ...]:
    """Return what checkpoints and evaluations cost: how much longer their steps are than others."""
    usual = median_ns([window.length_ns for window in windows if window.kept]) or 0
    found = []
    for kind in AMORTISED:
        more = [max(0, w.length_ns - usual) for w in windows if w.drop == kind]
        if more:
            ns_each = mean_ns(sum(more), len(more))
            found.append({"kind": kind, "count": len(more), "ns_each": ns_each})
    return tuple(found)


def _micro_batches(steps: Steps) -> Steps:
    """Say so if some steps update no weights while others do: they are parts of steps."""
    kept = steps.kept
    without = [window for window in kept if not window.optimizer_ops]
    if not without or len(without) == len(kept):
        return steps
    none = {window.index for window in without}
    windows = tuple(
        replace(w, flags=(*w.flags, "no_optimizer")) if w.index in none else w
        for w in steps.windows
    )
    steps = replace(steps, windows=windows).noting(
        f"{len(without)} of {len(kept)} kept steps hold no optimizer kernel while the others do:"
        " these ranges look like micro-batches"
    )
    return steps.capped(DISAGREE_CONFIDENCE) if len(without) > MICRO_BATCHES * len(kept) else steps
