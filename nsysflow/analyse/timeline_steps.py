"""Which steps the timeline shows, the most telling first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from nsysflow.analyse.windows import Steps, Window
from nsysflow.shares import median_ns

# Whatever was asked for: more steps than this cannot share the marks of one document.
MOST_SHOWN = 12


@dataclass(frozen=True)
class Shown:
    """The windows to draw, in order of importance, and what was asked for but cannot be drawn.

    ``sharing`` windows after the first have a fair claim to room: those named, and the slowest.
    """

    windows: tuple[Window, ...]
    sharing: int = 0
    unknown: tuple[int, ...] = ()
    dropped: tuple[tuple[int, str], ...] = ()


def choose_shown(steps: Steps, listed: int, named: Sequence[int]) -> Shown:
    """Return the median step, those named by number, the slowest, the first and the last kept.

    Only the first ``listed`` windows are in the document, so only they can be shown. A step
    without a number is named by its index.
    """
    windows = steps.windows[:listed]
    kept = [window for window in windows if window.kept]
    if not kept:
        return Shown(())
    wanted = [_median(kept)]
    unknown, dropped = [], []
    for number in dict.fromkeys(named):
        found = [window for window in windows if _number(window) == number]
        good = [window for window in found if window.kept]
        if good:
            wanted.append(good[0])
        elif reason := _reason(steps, found, number):
            dropped.append((number, reason))
        else:
            unknown.append(number)
    slowest = min(kept, key=lambda window: (-window.length_ns, window.index))
    claiming = tuple(dict.fromkeys([*wanted, slowest]))[:MOST_SHOWN]
    distinct = tuple(dict.fromkeys([*claiming, kept[0], kept[-1]]))
    return Shown(distinct, len(claiming) - 1, tuple(unknown), tuple(dropped))


def _median(kept: Sequence[Window]) -> Window:
    typical = [window for window in kept if not window.outlier] or list(kept)
    middle = median_ns([window.length_ns for window in typical]) or 0
    return min(typical, key=lambda w: (abs(w.length_ns - middle), w.length_ns, w.index))


def _number(window: Window) -> int:
    return window.index if window.number is None else window.number


def _reason(steps: Steps, found: Sequence[Window], number: int) -> str | None:
    for window in found:
        if window.drop:
            return window.drop
    return next((reason for _, seen, reason in steps.unseen if seen == number), None)
