"""Sections whose question failed: said where everybody reads it, not on a page only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nsysflow.analyse.timeline import listed

Document = dict[str, Any]


def failed(documents: Sequence[Document]) -> list[str]:
    """Return a note per section; ``failed`` of a lane's document has the reason by section."""
    reasons: dict[str, str] = {}
    lanes: dict[str, list[str]] = {}
    for document in documents:
        for name, reason in document["failed"].items():
            reasons.setdefault(name, reason)
            lanes.setdefault(name, []).append(document["lane"]["label"])
    return [
        f"{listed(lanes[name])}: the section on {name.replace('_', ' ')} failed"
        f" ({reasons[name]}){_next(reasons[name])}"
        for name in sorted(lanes)
    ]


def _next(reason: str) -> str:
    return "; raise --memory-limit or lower --jobs" if "OutOfMemory" in reason else ""
