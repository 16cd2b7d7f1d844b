"""Options that name something which no lane has: said where everybody reads it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nsysflow.analyse.stepping import OVERLAPPING, UNFIT
from nsysflow.analyse.timeline import listed
from nsysflow.settings import Settings

Document = dict[str, Any]


def unfit(documents: Sequence[Document], settings: Settings) -> list[str]:
    """Return a note per option that fits nothing; ``documents`` are those of all lanes."""
    return [*_step_range(documents), *_timeline_steps(documents, settings.timeline_steps)]


def _step_range(documents: Sequence[Document]) -> list[str]:
    """The steps are then told otherwise."""
    found = []
    for why in (UNFIT, OVERLAPPING):
        lanes = [d["lane"]["label"] for d in documents if why in (d["steps"].get("note") or "")]
        if lanes:
            found.append(f"{why} in {listed(lanes)}: steps were told otherwise")
    return found


def _timeline_steps(documents: Sequence[Document], asked: Sequence[int]) -> list[str]:
    """The timeline then shows the usual steps only."""
    kept = {
        item["index"] if item["number"] is None else item["number"]
        for document in documents
        for item in document["steps"]["items"]
        if item["kept"]
    }
    missing = [str(number) for number in asked if number not in kept]
    if not missing:
        return []
    there = f": {min(kept)} to {max(kept)} were kept" if kept else ""
    return [f"--timeline-steps: no lane can show a step with the number {listed(missing)}{there}"]
