"""Sections of few numbers, each said in a sentence or two."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from nsysflow.render import units
from nsysflow.render.sections import Document, State, Window, section, state
from nsysflow.render.words import RECOMPUTE_SOURCE


def facts(document: Document, over: Window) -> list[tuple[str, str, State | None]]:
    """Return the short sections: launch, data loading, recomputation, memory."""
    return [
        ("Launching", *_fact(section(document, "launch"), _launch)),
        ("Data loading", *_fact(section(document, "data_loading"), partial(_data_loading, over))),
        ("Recomputation", *_fact(section(document, "recompute"), _recompute)),
        ("GPU memory", *_fact(section(document, "gpu_memory"), _gpu_memory)),
    ]


def _fact(
    found: Mapping[str, Any], say: Callable[[Mapping[str, Any]], str]
) -> tuple[str, State | None]:
    why = state(found)
    return ("", why) if why else (say(found), None)


def _launch(found: Mapping[str, Any]) -> str:
    parts = []
    if found["lambda"] is not None:
        parts.append(
            f"Median time between launches ÷ median kernel: {units.decimal(found['lambda'])}"
        )
    if found["queue_depth_median"] is not None:
        parts.append(f"Queue depth at launch, median: {units.decimal(found['queue_depth_median'])}")
    took = f", {units.duration(found['graph_launch_ns'])}" if found["graph_launch_ns"] else ""
    parts.append(
        f"Graph launches: {units.count(found['graph_launches'] or 0)}{took}; "
        f"kernels in graphs: {units.count(found['kernels_in_graphs'] or 0)}"
    )
    return ". ".join(parts) + "."


def _data_loading(over: Window, found: Mapping[str, Any]) -> str:
    waited = found["per_step_ns"] or 0
    if not waited:
        return units.clean("No wait for data was seen." + _workers(found.get("workers")))
    evidence = found["evidence"]
    shown = "; ".join(str(part) for part in evidence) if isinstance(evidence, list) else evidence
    return units.clean(
        f"{units.duration(waited)} per {over.unit}"
        + (f", in {units.some(found['steps_affected'], 'step')}." if over.unit == "step" else ".")
        + (f" Seen as {shown}." if shown else "")
        + _workers(found.get("workers"))
    )


def _workers(workers: Sequence[Mapping[str, Any]] | None) -> str:
    if workers is None:
        return " Threads have no names in this capture."
    if not workers:
        return " No thread is named like a loader."
    named = ", ".join(
        f"{row['count']} × {row['name']}{'' if row['own'] else ' in processes without a GPU'}"
        for row in workers
    )
    return f" Loader threads: {named}."


def _recompute(found: Mapping[str, Any]) -> str:
    source = RECOMPUTE_SOURCE.get(str(found["source"]), str(found["source"]))
    rho = units.decimal(found["rho"]) if found["rho"] is not None else "not known"
    spent = (
        units.duration(found["recompute_ns"]) if found["recompute_ns"] is not None else "not known"
    )
    return units.clean(f"Forward launches per backward: {rho}; time {spent}. From {source}.")


def _gpu_memory(found: Mapping[str, Any]) -> str:
    peak = units.size(found["peak_bytes"]) if found["peak_bytes"] is not None else "not known"
    total = units.size(found["total_bytes"]) if found["total_bytes"] is not None else "not known"
    return f"Peak {peak} of {total}."
