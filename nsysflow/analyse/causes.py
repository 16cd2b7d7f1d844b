"""Split each level-1 state by cause; every split sums to its state to the nanosecond."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsysflow.analyse.facts import Facts
from nsysflow.analyse.workspace import Workspace
from nsysflow.model import CATEGORIES, CLASSES, EXPOSED_COMM_PARTS, IDLE_CAUSES, PHASES
from nsysflow.shares import frac, fracs

# What may stay unexplained before the page says that attribution is incomplete.
COMPLETE_FRAC = 0.10
HOST_OVERHEAD = (
    "host_sync", "launch_bound", "launch_latency", "micro_gap", "graph_internal_gap",
    "cuda_malloc_free", "jit_or_load", "gc", "gil_wait", "cpu_contention", "logging", "comm_host",
    "host_other_nvtx", "dependency_stall", "gpu_shared",
)  # fmt: skip


def sections(work: Workspace, facts: Facts) -> dict[str, Any]:
    """Return ``causes``, ``attribution`` and ``categories`` of a lane."""
    idle = dict.fromkeys(IDLE_CAUSES, 0)
    idle |= {row["cause"]: row["ns"] for row in work.rows("idle_causes")}
    compute = dict.fromkeys(CLASSES, 0)
    compute |= {CLASSES[row["class_rank"]]: row["ns"] for row in work.rows("compute_classes")}
    exposed = dict.fromkeys(EXPOSED_COMM_PARTS, 0)
    parts = work.row("exposed_parts", "analyses")
    exposed["unsplit_gated"] = parts["gated_ns"]
    exposed["unsplit_host_late"] = parts["host_late_ns"]
    phase = dict.fromkeys(PHASES, 0) | {row["phase"]: row["ns"] for row in work.rows("phases")}
    phase["unknown"] = sum(compute.values()) - sum(phase.values())
    found = {"idle": idle, "exposed_comm": exposed, "compute": compute, "phase": phase}
    levels = {"window_ns": facts.window_ns, "graph_opaque": facts.total("graph_opaque")}
    return {
        "causes": found,
        "attribution": attribution(levels, found),
        "categories": categories(levels, found, _input_ns(work)),
    }


def attribution(
    levels: Mapping[str, int], causes: Mapping[str, Mapping[str, int]]
) -> dict[str, Any]:
    """Return how much of the kept steps stays unexplained; ``levels`` are their buckets."""
    exposed = causes["exposed_comm"]
    unknown = (
        causes["idle"]["idle_unattributed"]
        + exposed["unsplit_gated"]
        + exposed["unsplit_host_late"]
        + levels["graph_opaque"]
    )
    share = frac(unknown, levels["window_ns"])
    verdict = "good" if share is not None and share <= COMPLETE_FRAC else "incomplete"
    return {
        "status": "ok",
        "unattributed_ns": unknown,
        "unattributed_frac": share,
        "verdict": verdict,
    }


def _input_ns(work: Workspace) -> int:
    return sum(row["copy_ns"] for row in work.rows("data_loading"))


def categories(
    levels: Mapping[str, int], causes: Mapping[str, Mapping[str, int]], input_ns: int
) -> dict[str, Any]:
    """Return the time of each category; ``input_ns`` of exposed copies counts as data loading."""
    idle, exposed = causes["idle"], causes["exposed_comm"]
    parts = dict.fromkeys(CATEGORIES, 0)
    parts["kernel_efficiency"] = sum(causes["compute"].values()) - causes["phase"]["recompute"]
    parts["recomputation"] = causes["phase"]["recompute"]
    parts["exposed_communication"] = exposed["transfer_gated"] + exposed["transfer_host_late"]
    parts["pipeline_bubble"] = exposed["pipeline_bubble"]
    parts["stragglers"] = exposed["wait_gated"] + exposed["wait_host_late"]
    parts["host_overhead"] = sum(idle[cause] for cause in HOST_OVERHEAD)
    parts["data_loading"] = idle["data_loading"] + input_ns
    parts["measurement"] = levels["window_ns"] - sum(parts.values())
    shares = fracs([parts[name] for name in CATEGORIES], levels["window_ns"])
    return {
        name: {"ns": parts[name], "frac": share, "finding": None}
        for name, share in zip(CATEGORIES, shares, strict=True)
    }


def check(document: dict[str, Any]) -> None:
    """Hold the identities between a lane's level 1 and its splits.

    Raises:
        AssertionError: a split does not sum to its state.
    """
    buckets, causes = document["buckets"], document["causes"]
    compute = buckets["compute_only"] + buckets["compute_comm_overlap"]
    wholes = {
        "idle": buckets["idle"],
        "exposed_comm": buckets["exposed_comm"],
        "compute": compute,
        "phase": compute,
    }
    for name, whole in wholes.items():
        if sum(causes[name].values()) != whole or min(causes[name].values()) < 0:
            raise AssertionError(
                f"the causes of {name} sum to {sum(causes[name].values())}, not {whole}"
            )
    if document["gaps"]["status"] == "ok" and document["gaps"]["total_ns"] != buckets["idle"]:
        raise AssertionError("the gaps do not sum to the idle time")
    categories = sum(part["ns"] for part in document["categories"].values())
    if categories != buckets["window_ns"]:
        raise AssertionError("the categories do not sum to the window")
