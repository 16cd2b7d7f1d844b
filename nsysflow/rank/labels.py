"""Names for lanes that are file names and links too: short, plain, unique whatever the case."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from nsysflow.find import trace_stem
from nsysflow.mask import Masker
from nsysflow.rank.lane import Lane

_LONGEST_STEM = 60


def labelled(lanes: Sequence[Lane], hosts: Mapping[str, str] | None = None) -> list[Lane]:
    """Return the lanes with ``label`` set; it does not depend on their order.

    ``hosts`` maps host names to the labels that are shown for them.
    """
    per_rank = Counter(lane.rank for lane in lanes)
    masker = Masker(hosts)
    base = {(lane.trace, lane.lane): _base(lane, per_rank[lane.rank], masker) for lane in lanes}
    lanes = [replace(lane, label=base[lane.trace, lane.lane]) for lane in lanes]
    lanes = _told_apart(lanes, base, lambda lane: lane.file)
    # What the path leaves alike are lanes of one file.
    return _told_apart(lanes, base, lambda lane: f"{lane.file}#{lane.pid}#{lane.lane}")


def _told_apart(
    lanes: Sequence[Lane], base: Mapping[tuple[str, int], str], identity: Callable[[Lane], str]
) -> list[Lane]:
    taken = Counter(lane.label.lower() for lane in lanes)
    return [
        lane
        if taken[lane.label.lower()] == 1
        else replace(lane, label=f"{base[lane.trace, lane.lane]}-{_digest(identity(lane))}")
        for lane in lanes
    ]


def _base(lane: Lane, lanes_of_rank: int, masker: Masker) -> str:
    if lane.rank is None:
        return f"{_stem(lane.file, masker)}-pid{lane.pid}-gpu{lane.device}"
    return f"{lane.rank:04d}" + (f"-gpu{lane.device}" if lanes_of_rank > 1 else "")


def _stem(file: str, masker: Masker) -> str:
    # A label stands in every link: what may not be shown must not get into it either.
    plain = masker.text(trace_stem(file))
    return re.sub(r"[^A-Za-z0-9._-]+", "_", plain)[:_LONGEST_STEM] or "trace"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
