"""Whether the lanes of a job agree on its steps: synchronous training gives all one period."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nsysflow.shares import median_ns

# Between steps that several lanes measured, their period may differ by this much.
AGREE = 0.01
ENOUGH = 3


def disagreements(documents: Sequence[dict[str, Any]]) -> list[str]:
    """Return a sentence for each way in which the lanes' steps do not fit together."""
    stepped = [d for d in documents if d["steps"].get("source", "none") != "none"]
    if not stepped or len(documents) == 1:
        return []
    found = []
    if len(stepped) < len(documents):
        found.append(f"steps were found on {len(stepped)} of {len(documents)} lanes only")
    counts = [len(d["steps"]["items"]) for d in stepped]
    if min(counts) != max(counts):
        found.append(
            f"the lanes hold between {min(counts)} and {max(counts)} steps:"
            " their captures were cut differently, or the ranks are not one job"
        )
    return found + _periods(stepped)


def _periods(documents: Sequence[dict[str, Any]]) -> list[str]:
    lanes = [_lengths(document) for document in documents]
    common = set.intersection(*(set(lane) for lane in lanes))
    if len(common) < ENOUGH:
        return []
    means = [sum(lane[key] for key in common) / len(common) for lane in lanes]
    usual = median_ns([round(mean) for mean in means]) or 0
    if max(means) - min(means) <= AGREE * usual:
        return []
    label = [document["lane"]["label"] for document in documents]
    short, long = means.index(min(means)), means.index(max(means))
    return [
        f"step periods differ: {means[short] / 1e6:.3f} ms on {label[short]},"
        f" {means[long] / 1e6:.3f} ms on {label[long]}; the windows are wrong or the ranks are not"
        " one job"
    ]


def _lengths(document: dict[str, Any]) -> dict[int, int]:
    """Return the length of each kept step whose beginning was seen, by number or else by index."""
    items = document["steps"]["items"]
    numbers = [item["number"] for item in items]
    # Numbers that are missing or repeat name no step.
    numbered = None not in numbers and len(set(numbers)) == len(numbers)
    return {
        item["number"] if numbered else item["index"]: item["end_ns"] - item["start_ns"]
        for item in items
        if item["kept"] and "leading_gap_unseen" not in item["flags"]
    }
