"""Steps by brute force: which ops a step owns, where its window ends, whether it is kept.

Straight from the definitions, for lanes of a few hundred ops: every op is asked
about every step. Knows no SQL and nothing of the product.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

Span = tuple[int, int]


@dataclass(frozen=True)
class Op:
    """Device work; ``launch`` None: not recorded."""

    start: int
    end: int
    primary: bool
    launch: int | None


@dataclass
class Step:
    """One step: its host range, its window, how many ops it launched, why it is dropped."""

    host: Span
    window: Span
    ops: int
    unseen: bool = False
    reason: str | None = None


def contiguous(ranges: list[Span], *, ends_only: bool) -> list[Span]:
    """Stretch each range back to the end of the one before; an end has no beginning of its own."""
    stretched = [(ranges[k - 1][1] if k else start, end) for k, (start, end) in enumerate(ranges)]
    return stretched[1:] if ends_only else stretched


def assign(ops: list[Op], ranges: list[Span], *, ends_only: bool = False) -> list[Step]:
    """Return the steps of these host ranges, without any reason to drop one."""
    long = [op for op in ops if op.end > op.start]
    hosts = contiguous(ranges, ends_only=ends_only)
    begin = hosts[0][0]
    before = [
        op.end
        for op in long
        if op.primary and (op.start if op.launch is None else op.launch) < begin
    ]
    edge = max(before) if before else None
    steps: list[Step] = []
    carried: int | None = None
    for start, end in hosts:
        low = start if carried is None else carried
        mine = [op for op in long if op.launch is not None and low <= op.launch < end]
        ends = [op.end for op in mine if op.primary and op.launch is not None]
        unseen = edge is None
        at = min((op.start for op in mine), default=0) if edge is None else edge
        if not ends or max(ends) <= at:
            carried = low
            continue
        carried = None
        steps.append(Step((low, end), (at, max(ends)), len(mine), unseen))
        edge = max(ends)
    return steps


def judge(steps: list[Step], disturbed: dict[int, str]) -> None:
    """Say why steps are dropped: what disturbed them, an unseen beginning, being a fragment."""
    for place, reason in disturbed.items():
        steps[place].reason = reason
    whole = [step for step in steps[1:] if step.reason is None]
    if steps and steps[0].unseen and steps[0].reason is None and len(whole) >= 3:
        steps[0].reason = "leading_gap_unseen"
    kept = [step for step in steps if step.reason is None]
    if kept:
        half = median(step.window[1] - step.window[0] for step in kept) / 2
        few = median(step.ops for step in kept) / 2
        for step in kept:
            if step.window[1] - step.window[0] < half or step.ops < few:
                step.reason = "fragment"
    if not any(step.reason is None for step in steps):
        for step in steps:
            step.reason = None
