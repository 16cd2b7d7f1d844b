"""Invented result documents of whole runs."""

from __future__ import annotations

import copy
import random
from typing import Any

from tests.support.document_parts import NOT_BUILT, Document, findings_of, listed
from tests.support.documents import full


def result(ranks: list[Document], **run: Any) -> Document:
    """Return the result document of some rank documents, with nothing measured across ranks."""
    return {
        "schema": 1,
        "tool": {"version": "0.1.0"},
        "run": {
            "name": "llama7b-fsdp",
            "ranks_expected": None,
            "ranks_usable": len(ranks),
            "missing_ranks": None,
            "conflicts": [],
            "several_jobs": None,
            "inputs": [
                {
                    "file": doc["lane"]["file"],
                    "status": "ok",
                    "stage": None,
                    "message": None,
                    "hint": None,
                }
                for doc in ranks
            ],
            **run,
        },
        "ranks": [_summary(doc) for doc in ranks],
        "alignment": {
            "status": "not_aligned",
            "reason": "not built yet",
            "method": None,
            "residual_ns": None,
            "offsets": [],
        },
        "collectives": dict(NOT_BUILT),
        "stragglers": dict(NOT_BUILT),
        "walk": dict(NOT_BUILT),
        "categories": None,
        "mfu": dict(NOT_BUILT),
        "findings": [],
    }


def _summary(document: Document) -> Document:
    lane, steps = document["lane"], document["steps"]
    found = [finding for finding in document["findings"] if finding["status"] == "opportunity"]
    return {
        **{
            key: lane[key]
            for key in ("label", "rank", "rank_source", "file", "host", "pid", "device")
        },
        "gpu_name": (lane["gpu"] or {}).get("name"),
        "page": f"rank-{lane['label']}.html",
        "result": f"rank-{lane['label']}.json",
        "steps_kept": steps["kept"],
        "steps_source": steps["source"],
        "chosen": steps.get("chosen", False),
        "period_ns": steps["period_ns"],
        "step_ns": [item["end_ns"] - item["start_ns"] for item in steps["items"] if item["kept"]][
            :512
        ],
        "buckets": document["buckets"],
        "causes": document["causes"],
        "mfu": document["mfu"].get("mfu"),
        "top_finding": found[0]["title"] if found else None,
    }


def job(count: int, steps: int = 12) -> Document:
    """Return a job of ``count`` ranks with a late rank, a missing one, a failed file and a walk."""
    base = full(0, steps, layers=2)
    made = []
    for rank in range(count):
        document = full(rank, steps, layers=2) if count <= 16 else base
        row = _summary(document)
        if count > 16:
            row = copy.deepcopy(row) | {
                "rank": rank,
                "label": f"{rank:04d}",
                "host": f"host-{rank // 8 + 1}",
                "device": rank % 8,
                "file": f"rank{rank}.sqlite",
                "page": f"rank-{rank:04d}.html",
            }
            draw = random.Random(rank)  # noqa: S311
            row["step_ns"] = [round(ns * draw.uniform(0.98, 1.03)) for ns in row["step_ns"]]
        if rank == 11:
            moved = row["buckets"]["idle"] // 2
            row["buckets"] = {
                **row["buckets"],
                "idle": row["buckets"]["idle"] - moved,
                "compute_only": row["buckets"]["compute_only"] + moved,
            }
            row["step_ns"] = [ns * 12 // 10 for ns in row["step_ns"]]
        made.append(row)
    document = result([base])
    document["ranks"] = made
    expected = count + 2 if count > 1 else None
    document["run"] |= {
        "ranks_expected": expected,
        "ranks_usable": count,
        "missing_ranks": [count, count + 1] if expected else None,
        "inputs": [
            {"file": row["file"], "status": "ok", "stage": None, "message": None, "hint": None}
            for row in made
        ]
        + (
            [
                {
                    "file": f"rank{count}.sqlite",
                    "status": "failed",
                    "stage": "open",
                    "message": "not an SQLite file: it begins with zeros",
                    "hint": "export it again",
                }
            ]
            if expected
            else []
        ),
    }
    if count > 1:
        _across(document, made)
    return document


def _across(document: Document, ranks: list[Document]) -> None:
    """Add the sections that compare ranks."""
    labels = [row["label"] for row in ranks]
    late = labels[min(11, len(labels) - 1)]
    costs = (
        ("compute_only", None, 441_600_000),
        ("compute_comm_overlap", None, 107_300_000),
        ("exposed_comm", "transfer_gated", 196_300_000),
        ("exposed_mem", None, 5_900_000),
        ("idle", "host_sync", 61_200_000),
        ("idle", "data_loading", 47_500_000),
        ("idle", "launch_bound", 33_800_000),
        ("exposed_comm", "wait_unresolved", 16_600_000),
    )
    items = []
    for bucket, cause, ns in costs:
        most = ns * 6 // 10
        items.append({"label": late, "bucket": bucket, "cause": cause, "ns": most})
        items.append({"label": labels[0], "bucket": bucket, "cause": cause, "ns": ns - most})
    document["walk"] = {
        "status": "ok",
        "steps": list(range(41, 50)),
        "step_ns": sum(row["ns"] for row in items),
        "items": items,
    }
    document["stragglers"] = listed(
        [
            {
                "label": late,
                "rank": min(11, len(labels) - 1),
                "verdict": "straggler",
                "last_frac": 0.87,
                "median_late_ns": 1_310_000,
                "gain_bound_ns_per_step": 46_000_000,
                "cause": "slow compute: the same kernels, 1.09 × longer",
                "evidence": ["last in 87 % of 1,944 instances", "SM clock not recorded"],
            }
        ]
    )
    document["collectives"] = {
        "status": "ok",
        "matched_frac": 0.986,
        "groups": [
            {
                "communicator": "fsdp-64",
                "kind": "fsdp",
                "members": labels,
                "hosts": sorted({row["host"] for row in ranks}),
                "instances": 120_528,
                "wait_ns": 5_400_000_000,
                "transfer_ns": 14_200_000_000,
                "median_late": [{"label": late, "ns": 1_310_000}],
                "last_share": [{"label": late, "frac": 0.87}],
            }
        ],
    }
    document["alignment"] = {
        "status": "aligned",
        "method": "alternating medians on collective ends",
        "residual_ns": 2_100,
        "offsets": [
            {"file": row["file"], "offset_ns": 1_000 * at} for at, row in enumerate(ranks[:8])
        ],
    }
    document["findings"] = [
        {**finding, "ranks": [0, 1, 2]}
        for finding in findings_of({"start_ns": 0, "dur_ns": 1})
        if finding["category"] != "data_loading"
    ]
    document["categories"] = full(layers=2)["categories"]
    document["mfu"] = full(layers=2)["mfu"]
