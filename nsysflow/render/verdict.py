"""The sentence on top, by rules: the two largest losses, or why there are none to name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsysflow.render import units
from nsysflow.render.sections import Document, Window, section

NO_KERNELS = "No kernels are in this capture: what the GPU computed is not known."
# What figures cover where they cover no steps, by the word for a window.
UNSTEPPED = {
    "capture": "No training steps found; figures cover the whole capture.",
    "window": "No whole step lies in the chosen time; figures cover just that time.",
}
# A loss below this share of the step is not worth the first sentence.
WORTH_NAMING = 0.05
_FIRST = {
    "exposed_comm": "{share} of {each} is communication that nothing hides",
    "exposed_mem": "{share} of {each} is memory copies that nothing hides",
    "graph_opaque": "{share} of {each} is CUDA graphs that were not split into kernels",
    "idle": "The GPU idles for {share} of {each}",
}
_SECOND = {
    "exposed_comm": "another {share} is communication that nothing hides",
    "exposed_mem": "another {share} is memory copies that nothing hides",
    "graph_opaque": "another {share} is CUDA graphs that were not split into kernels",
    "idle": "for another {share} the GPU idles",
}
# What runs inside an unsplit graph is not known, so it is no loss.
LOSSES = tuple(name for name in _FIRST if name != "graph_opaque")


def losses(buckets: Mapping[str, int], each: str) -> str:
    """Name the two largest losses of at least 5 %, or say that there is none."""
    total = buckets["window_ns"]
    found = sorted(
        ((units.ratio(buckets[name], total), name) for name in _FIRST),
        key=lambda pair: (-pair[0], pair[1]),
    )
    large = [(frac, name) for frac, name in found if frac >= WORTH_NAMING]
    if not large:
        computes = units.ratio(buckets["compute_only"] + buckets["compute_comm_overlap"], total)
        return (
            f"The GPU computes for {units.share(computes)} of {each}; "
            f"no single loss exceeds 5{units.NARROW}%."
        )
    first = _FIRST[large[0][1]].format(share=units.share(large[0][0]), each=each)
    if len(large) == 1:
        # What runs inside a graph is not known; that is no loss.
        other = "" if large[0][1] == "graph_opaque" else "other "
        return f"{first}; no {other}loss exceeds 5{units.NARROW}%."
    return f"{first}; {_SECOND[large[1][1]].format(share=units.share(large[1][0]))}."


def inside(sentence: str) -> str:
    """Return a sentence as it stands after a comma or colon."""
    return sentence[0].lower() + sentence[1:]


def failed_check(mfu: Mapping[str, Any]) -> str | None:
    """Return the text of the first check that says the numbers cannot be right."""
    for check in mfu.get("checks") or ():
        if check["verdict"] == "wrong":
            return units.clean(check["text"])
    return None


def is_blind(document: Document) -> bool:
    """Return whether a rank's capture holds nothing of what its GPU computed."""
    counts = document["capture"]["counts"]
    return not counts["kernels"] and not counts["graph_rows"]


def sentence(document: Document, window: Window) -> str:
    """Write the verdict of a rank page."""
    failed = failed_check(section(document, "mfu"))
    if failed:
        return f"The numbers below don’t fit together: {failed}"
    if is_blind(document):
        return NO_KERNELS
    said = losses(document["buckets"], window.each)
    if document["attribution"].get("verdict") == "incomplete":
        said = f"As far as this capture shows, {inside(said)}"
    return f"{UNSTEPPED[window.unit]} {said}" if window.unit in UNSTEPPED else said
