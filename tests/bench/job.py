"""``python -m tests.bench.job``: the job stage alone, on lanes written as the store holds them."""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nsysflow.analyse import Files, Stored, analyse_job
from nsysflow.outdir import json_text, write_text
from nsysflow.rank import Lane, RankTable
from nsysflow.record import Record
from nsysflow.settings import Settings
from tests.support.job_run import Planted, job_of

STEPS = 10
STEP_NS = 20_000_000
TENSOR = 8
# Every tenth collective belongs to the data-parallel communicator.
EVERY = 10


def main() -> None:
    """Write the lanes, run the job stage, print time and memory beside the bars."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.job", description=__doc__)
    parser.add_argument("--lanes", type=int, default=1_024)
    parser.add_argument("--collectives", type=int, default=1_000)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        document = _document(root / "one")
        lanes = [_lane(rank) for rank in range(asked.lanes)]
        for lane in lanes:
            _write(root / "store", lane, asked.collectives, json.loads(json_text(document)))
        began = time.perf_counter()
        result = _run(root, lanes)
        seconds = time.perf_counter() - began
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    late = [item["rank"] for item in result["stragglers"]["items"]]
    sys.stdout.write(
        f"{asked.lanes} lanes x {asked.collectives} collectives: {seconds:.1f} s (bar 60), "
        f"{memory:.2f} GB (bar 2); late ranks {late}, planted [5]\n"
    )


def _document(folder: Path) -> dict[str, Any]:
    run = Planted(2, 4, lambda _rank, _step: 500_000)
    document = job_of(run.write(folder / "run"), folder).lanes["0000"]
    document["timeline"] = {"status": "not_applicable", "reason": "left out"}
    return document


def _lane(rank: int) -> Lane:
    label = f"{rank:04d}"
    host = f"host-{rank // TENSOR}"
    return Lane(
        f"rank{rank}", 0, label, rank, "env", f"{label}.sqlite", host, rank, 0, None, None, False
    )


def _write(store: Path, lane: Lane, count: int, document: dict[str, Any]) -> None:
    rank = lane.rank or 0
    rng = np.random.default_rng(rank)
    folder = store / lane.trace / "lane-0"
    folder.mkdir(parents=True)
    clock = int(rng.integers(-(10**9), 10**9))
    capture = {"file": lane.file, "utc_start_ns": 1_700_000_000_000_000_000 + clock}
    (folder.parent / "capture.json").write_text(json.dumps(capture))
    number = np.arange(count)
    step = number * STEPS // count
    data = number % EVERY == EVERY - 1
    late = 40_000 if rank == 5 else 0
    base = number * (STEPS * STEP_NS // count) - clock
    start = base + rng.integers(0, 30_000, count) + late
    end = base + 100_000 + 30_000 * data + rng.integers(0, 500, count)
    names = np.where(data, f"0xd{rank % TENSOR}", f"0xt{rank // TENSOR}")
    none = pa.nulls(count, pa.int64())
    collective = {
        "op_no": number, "start_ns": start, "end_ns": end, "order_ns": start - 9_000,
        "op": ["all_reduce"] * count, "op_source": ["payload"] * count, "comm": names,
        "ranks": none, "comm_rank": none, "bytes": np.where(data, 10**8, 10**7), "peer": none,
        "root": none, "context": none, "stream": np.where(data, 20, 30), "correlation": number,
        "step": step, "number": step, "owned": np.ones(count, np.bool_), "beside": none,
        "peers": pa.nulls(count, pa.string()), "named": pa.nulls(count, pa.string()),
        "nvlink": none, "pcie": none,
    }  # fmt: skip
    exposed = {"op_no": number, "step": step, "start_ns": start, "end_ns": end}
    edges, following = np.append(-clock, end), np.append(start, STEPS * STEP_NS - clock)
    piece = {"step": np.append(step, STEPS - 1), "start_ns": edges, "end_ns": following}
    only = {"bucket": ["compute_only"], "cause": pa.nulls(1, pa.string())}
    pieces = piece | {name: np.repeat(v, count + 1) for name, v in only.items() if name == "bucket"}
    pieces |= {"cause": pa.nulls(count + 1, pa.string()), "ns": following - edges}
    per_step = np.bincount(step, end - start, STEPS).astype(np.int64)
    steps = {
        "step": np.arange(STEPS), "bucket": ["compute_only"] * STEPS,
        "cause": pa.nulls(STEPS, pa.string()), "ns": STEP_NS - per_step,
    }  # fmt: skip
    metrics = {"metric": ["sm_clock"], "samples": [100], "mean": [1_800_000]}
    metrics |= {"median": [1_800_000]}
    tables = {
        "collective": collective, "exposed_piece": exposed | {"gated": collective["owned"]},
        "lane_piece": pieces, "lane_step": steps, "lane_metric": metrics,
    }  # fmt: skip
    for name, columns in tables.items():
        pq.write_table(pa.table(columns), folder / f"{name}.parquet")
    _fill(document, lane, per_step.tolist(), -clock)
    write_text(folder / "document.json", json_text(document))


def _fill(document: dict[str, Any], lane: Lane, exposed: list[int], begin: int) -> None:
    """Make the document's buckets, causes and steps those of the tables."""
    document["lane"] |= {"label": lane.label, "rank": lane.rank, "host": lane.host}
    empty = dict.fromkeys(document["buckets"], 0)

    def buckets(window: int, comm: int) -> dict[str, int]:
        return empty | {"window_ns": window, "exposed_comm": comm, "compute_only": window - comm}

    item = document["steps"]["items"][1]
    document["steps"]["items"] = [
        item
        | {
            "index": k, "number": k, "kept": True, "buckets": buckets(STEP_NS, comm),
            "start_ns": begin + k * STEP_NS, "end_ns": begin + (k + 1) * STEP_NS,
        }
        for k, comm in enumerate(exposed)
    ]  # fmt: skip
    document["steps"]["kept"] = STEPS
    whole, comm = STEPS * STEP_NS, sum(exposed)
    document["buckets"] = buckets(whole, comm)
    causes = {name: dict.fromkeys(parts, 0) for name, parts in document["causes"].items()}
    causes["compute"]["gemm"] = causes["phase"]["unknown"] = whole - comm
    document["causes"] = causes
    document["gaps"]["total_ns"] = 0
    document["categories"]["data_loading"]["ns"] = 0


def _run(root: Path, lanes: list[Lane]) -> dict[str, Any]:
    out = root / "out"
    out.mkdir()
    files = Files(
        root / "store",
        lambda lane: Stored((root / "store" / lane.trace / "lane-0/document.json").read_text()),
        lambda lane, text: write_text(out / f"rank-{lane.label}.json", text),
    )
    table = RankTable(tuple(lanes), (), None, None, len(lanes), None)
    return analyse_job(files, lanes, table, Record("bench", (), (), Settings()), Settings())


if __name__ == "__main__":
    main()
