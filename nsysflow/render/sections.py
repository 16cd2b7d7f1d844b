"""Read sections of a result document: their state, their items, and what a lack of them says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from nsysflow.model import BUCKETS
from nsysflow.render import units
from nsysflow.render.words import STATUS

Document = Mapping[str, Any]
# The sections of a rank document that may say why they show nothing, in its order.
PARTS = (
    "steps",
    "overlap",
    "attribution",
    "gaps",
    "syncs",
    "kernels",
    "streams",
    "collectives",
    "memory",
    "nvtx",
    "api",
    "os_calls",
    "launch",
    "data_loading",
    "recompute",
    "efficiency",
    "gpu_memory",
    "amortised",
    "mfu",
    "timeline",
)
_ABSENT = {"status": "not_applicable", "reason": "not in this document"}


@dataclass(frozen=True)
class State:
    """Why a section shows no numbers: a chip and the reason beside it."""

    chip: str
    reason: str


def section(document: Document, name: str) -> Mapping[str, Any]:
    """Return a section; one that an older document lacks says so instead of failing the page."""
    found = document.get(name, _ABSENT)
    return found if isinstance(found, Mapping) else _ABSENT


def state(found: Mapping[str, Any]) -> State | None:
    """Return the state of a section that is not ``ok``, None for one that is."""
    status = found.get("status", "ok")
    if status == "ok":
        return None
    return State(STATUS.get(status, status), units.clean(found.get("reason") or ""))


def failed(document: Document) -> list[str]:
    """Return the sections of a rank document whose question failed."""
    return [name for name in PARTS if section(document, name).get("status") == "error"]


def items(found: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the rows of a section that is a list; none where it is not ``ok``."""
    return found.get("items") or () if state(found) is None else ()


# What figures are of, by the word for one window, and how all of it is called.
EACH = {"step": "each step", "capture": "the capture", "window": "the chosen time"}
WHOLE = {"capture": "whole capture", "window": "chosen time"}
SEVERAL = {"capture": "whole captures", "window": "chosen time"}


def unit(steps: Mapping[str, Any]) -> str:
    """Return the word for one window of a rank document's steps."""
    if steps.get("source", "none") != "none":
        return "step"
    return "window" if steps.get("chosen") else "capture"


@dataclass(frozen=True)
class Window:
    """What all numbers of a lane's page are measured over.

    ``ns`` is the sum of the kept windows, ``n`` their number, ``period_ns`` = ns / n.
    ``unit`` is the word for one of them: step, capture where no steps were found, or window where
    the user chose the time.
    """

    ns: int
    n: int
    period_ns: int
    unit: str
    which: str

    @property
    def each(self) -> str:
        """``each step``, ``the capture`` or ``the chosen time``."""
        return EACH[self.unit]

    @property
    def text(self) -> str:
        """How the page states n and window beside a figure."""
        n = f"n {units.count(self.n)}"
        return f"{n}, {self.which}" if self.which else n


def window(document: Document) -> Window:
    """Read the measured window of a rank document."""
    steps = section(document, "steps")
    total = document["buckets"]["window_ns"]
    n = steps.get("kept") or 1
    word = unit(steps)
    return Window(
        ns=total,
        n=n,
        period_ns=round(total / n),
        unit=word,
        which=WHOLE.get(word) or _which(steps),
    )


def _which(steps: Mapping[str, Any]) -> str:
    kept = [item for item in steps.get("items") or () if item["kept"]]
    named = [item["number"] for item in kept]
    if not kept:
        return ""
    if all(number is not None for number in named):
        return f"step{_plural(kept)} {units.numbers(named)}"
    return f"window{_plural(kept)} {units.numbers([item['index'] for item in kept])}"


def _plural(items: Sequence[object]) -> str:
    return "" if len(items) == 1 else "s"


def parts_of(document: Document) -> tuple[list[tuple[str, int]], int]:
    """Return the six buckets with their totals, and the window they sum to."""
    buckets = document["buckets"]
    total = buckets["window_ns"]
    return [(name, buckets[name]) for name in BUCKETS], total
