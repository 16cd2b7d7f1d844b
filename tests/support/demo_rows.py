"""Read a synthetic run back, row by row, knowing only the export schema."""

from __future__ import annotations

import json
import sqlite3
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsysflow.demo import make_run
from nsysflow.demo.plan import Plan

Row = dict[str, Any]


@dataclass(frozen=True)
class Run:
    """A run on disk: its truth and, by rank, its tables."""

    folder: Path
    truth: dict[str, Any]
    ranks: list[dict[str, list[Row]]]

    def true_ns(self, rank: int, time_ns: int) -> float:
        """Undo the clock of one capture."""
        clock = self.truth["ranks"][rank]["clock"]
        return float(time_ns / (1 + clock["drift_ppb"] / 1e9) + clock["session_true_ns"])


def make(folder: Path, **options: Any) -> Run:
    """Make a run and read it back."""
    make_run(folder, Plan(**options))
    truth = json.loads((folder / "truth.json").read_text(encoding="utf-8"))
    ranks = [tables(folder / rank["file"]) for rank in truth["ranks"]]
    return Run(folder, truth, ranks)


def tables(path: Path) -> dict[str, list[Row]]:
    """Return every table of an export."""
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    names = [row[0] for row in connection.execute("SELECT name FROM sqlite_master")]
    found = {
        name: [dict(row) for row in connection.execute(f'SELECT * FROM "{name}"')] for name in names
    }
    connection.close()
    return found


def device_work(rank: dict[str, list[Row]]) -> list[Row]:
    """Return kernels, copies and memsets with ``kind`` compute, comm or memory, and their call."""
    calls = {row["correlationId"]: row for row in rank["CUPTI_ACTIVITY_KIND_RUNTIME"]}
    names = {row["id"]: row["value"] for row in rank["StringIds"]}
    found = []
    for table in ("KERNEL", "MEMCPY", "MEMSET"):
        for row in rank[f"CUPTI_ACTIVITY_KIND_{table}"]:
            name = names.get(row.get("demangledName"), "")
            kind = "comm" if name.startswith("nccl") else "compute" if name else "memory"
            found.append({**row, "kind": kind, "name": name, "call": calls[row["correlationId"]]})
    return found


def sweep(work: list[Row], low: int, high: int) -> dict[str, int]:
    """Return the six buckets of [low, high) by walking from edge to edge."""
    edges = [(low, "", 0), (high, "", 0)]
    for row in work:
        start, end = max(row["start"], low), min(row["end"], high)
        if end > start:
            edges += [(start, row["kind"], 1), (end, row["kind"], -1)]
    running = {"": 0, "compute": 0, "comm": 0, "memory": 0}
    found = dict.fromkeys(
        ("compute_only", "compute_comm_overlap", "exposed_comm", "exposed_mem", "graph_opaque",
         "idle"), 0,
    )  # fmt: skip
    last = low
    for at, kind, change in sorted(edges):
        found[_bucket(running)] += at - last
        running[kind] += change
        last = at
    return found


def _bucket(running: dict[str, int]) -> str:
    if running["compute"]:
        return "compute_comm_overlap" if running["comm"] else "compute_only"
    if running["comm"]:
        return "exposed_comm"
    return "exposed_mem" if running["memory"] else "idle"


def texts(rank: dict[str, list[Row]]) -> dict[int, str]:
    """Return StringIds."""
    return {row["id"]: row["value"] for row in rank["StringIds"]}


def step_ranges(rank: dict[str, list[Row]]) -> list[Row]:
    """Return the ranges that name steps, in time order."""
    rows = [row for row in rank["NVTX_EVENTS"] if (row["text"] or "").startswith("step ")]
    return sorted(rows, key=lambda row: row["start"])


def collectives(rank: dict[str, list[Row]]) -> list[tuple[int, int, Row]]:
    """Return (communicator id, bytes, kernel row) of every NCCL call, in host order.

    The kernel of a call is the one launched inside its range; of a group, inside its end.
    """
    names = texts(rank)
    launched = [row for row in device_work(rank) if row["kind"] == "comm"]
    launched.sort(key=lambda row: row["call"]["start"])
    spans = [row for row in rank["NVTX_EVENTS"] if row["domainId"] == 1 and row["binaryData"]]
    spans = [row for row in spans if "CommInit" not in names[row["textId"]]]
    spans = [row for row in spans if names[row["textId"]] != "ncclRecv"]
    spans.sort(key=lambda row: row["start"])
    assert len(spans) == len(launched)
    found = []
    for span, kernel in zip(spans, launched, strict=True):
        header = struct.unpack_from("<4Q", span["binaryData"])
        comm, count = struct.unpack_from("<QQ", span["binaryData"], header[3])
        assert len(span["binaryData"]) == header[2] + header[3]
        assert span["start"] < kernel["call"]["start"]
        found.append((comm, count, kernel))
    return found
