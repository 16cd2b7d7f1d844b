"""The lanes of a job and their communication ops, as columns over all lanes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nsysflow.job.table import read_table
from nsysflow.model import COLLECTIVE_OPS

Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]

NONE = -1
# No step began before: times and numbers may be negative, so a small number cannot say that.
NEVER = np.iinfo(np.int64).min
OP = {name: code for code, name in enumerate(COLLECTIVE_OPS)}
# What a communicator may be for, in the order of their codes.
KINDS = ("tp", "dp", "fsdp", "pp", "ep", "cp", "unknown")
MOST_KERNELS = 60
SOURCES = ("payload", "nvtx", "kernel_name")
_NUMBERS = ("op_no", "start_ns", "end_ns", "order_ns")
_OPTIONAL = ("ranks", "comm_rank", "bytes", "peer", "root", "step", "beside", "nvlink", "pcie")


@dataclass(frozen=True)
class Step:
    """A kept step of a lane on its capture's clock."""

    index: int
    number: int | None
    start_ns: int
    end_ns: int
    exposed_ns: int


@dataclass(frozen=True)
class Kernel:
    """How often a kernel ran in the kept steps and for how long."""

    short_name: str
    count: int
    work_ns: int
    median_ns: int


@dataclass(frozen=True)
class JobLane:
    """One lane as the job sees it; ``trace`` numbers its file, ``folder`` holds its tables.

    ``steps`` are the kept ones; ``kernels`` the largest by name, without communication;
    ``has_attention``: kernels of attention are known by their names.
    """

    label: str
    rank: int | None
    trace: int
    host: str | None
    folder: Path
    steps: tuple[Step, ...]
    first_number: int | None = None
    kernels: dict[str, Kernel] = field(default_factory=dict, repr=False)
    has_attention: bool = False


@dataclass(frozen=True)
class Ops:
    """Communication ops of all lanes, one array per column; NONE where a value is missing.

    ``comm`` numbers ``comms``; ``peers`` numbers the sets of ranks that sends and receives name;
    ``stream`` numbers the streams of all lanes.
    """

    column: dict[str, Ints]
    owned: Flags
    comms: tuple[str, ...]
    peers: tuple[tuple[int, ...], ...] = ()

    def __len__(self) -> int:
        """Return how many ops there are."""
        return len(self.owned)

    def __getitem__(self, name: str) -> Ints:
        """Return one column."""
        return self.column[name]


def read_ops(lanes: Sequence[JobLane]) -> Ops:
    """Read the collectives of all lanes."""
    tables = [read_table(lane.folder / "collective.parquet") for lane in lanes]
    counts = [table.num_rows for table in tables]
    both = pa.concat_tables(tables, promote_options="permissive")
    lane = np.repeat(np.arange(len(lanes), dtype=np.int64), counts)
    column = {"lane": lane} | {name: _ints(both, name) for name in _NUMBERS}
    column |= {name: _ints(both, name, NONE) for name in _OPTIONAL}
    column["number"] = _ints(both, "number", NEVER)
    column["op"] = _codes(both["op"], OP)
    column["named"] = _codes(both["named"], {name: k for k, name in enumerate(KINDS)})
    column["source"] = _codes(both["op_source"], {name: k for k, name in enumerate(SOURCES)})
    column["comm"], comms = _numbered(both["comm"])
    column["peers"], sets = _numbered(both["peers"])
    peers = tuple(tuple(int(peer) for peer in each.split(",")) for each in sets)
    keys = np.stack([lane, _ints(both, "context", NONE), _ints(both, "stream", NONE)])
    column["stream"] = np.unique(keys, axis=1, return_inverse=True)[1].reshape(-1).astype(np.int64)
    return Ops(column, both["owned"].to_numpy(), comms, peers)


def _numbered(column: pa.ChunkedArray) -> tuple[Ints, tuple[str, ...]]:
    """Return the number of every text, NONE for none, and the texts."""
    encoded = column.combine_chunks().dictionary_encode()
    return (
        np.asarray(encoded.indices.fill_null(NONE), dtype=np.int64),
        tuple(encoded.dictionary.to_pylist()),
    )


def _ints(table: pa.Table, name: str, missing: int = 0) -> Ints:
    values: Ints = table[name].fill_null(missing).to_numpy().astype(np.int64)
    return values


def _codes(column: pa.ChunkedArray, codes: dict[str, int]) -> Ints:
    """Return the code of every text, NONE for none."""
    number, names = _numbered(column)
    return np.array([*(codes[name] for name in names), NONE], np.int64)[number]


def job_lane(document: dict[str, Any], trace: int, folder: Path) -> JobLane:
    """Return what the job needs of a lane's own document."""
    lane, steps = document["lane"], document["steps"]
    found = steps["source"] != "none"
    kept = tuple(
        Step(
            item["index"], item["number"], item["start_ns"], item["end_ns"],
            item["buckets"]["exposed_comm"],
        )
        for item in steps["items"]
        if item["kept"]
    )  # fmt: skip
    numbers = [item["number"] for item in steps["items"]] if found else []
    return JobLane(
        label=lane["label"],
        rank=lane["rank"],
        trace=trace,
        host=lane["host"],
        folder=folder,
        steps=kept,
        first_number=numbers[0] if numbers else None,
        kernels=_kernels(document["kernels"].get("top") or ()),
        has_attention=any(
            row["class"] == "attention" for row in document["kernels"].get("classes") or ()
        ),
    )


def _kernels(top: Sequence[dict[str, Any]]) -> dict[str, Kernel]:
    rows = [row for row in top if row["class"] != "comm" and row["name"] != "(other)"]
    return {
        row["name"]: Kernel(row["short_name"], row["count"], row["work_ns"], row["median_ns"])
        for row in rows[:MOST_KERNELS]
    }
