"""A report's store and documents as polars frames, for notebooks and scripts.

import nsysflow.frames as nf

nf.query("run/nsysflow-report", "FROM op WHERE kind = 'graph'")
nf.ranks("run/nsysflow-report")
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import polars as pl

from nsysflow import query as asking
from nsysflow.errors import UsageError
from nsysflow.settings import Limits


def query(report: str | Path, text: str) -> pl.DataFrame:
    """Run one SELECT over the store of a report folder; columns as ``nsysflow sql`` lists them.

    Raises:
        UsageError: there is no store, or the statement does anything but read.
    """
    store = Path(report) / "store"
    if not store.is_dir():
        raise UsageError(f"{report} holds no store", hint="name the output folder of a report")
    with tempfile.TemporaryDirectory() as scratch:
        limits = Limits(threads=2, temp_dir=Path(scratch))
        connection = asking.connect(store, limits)
        try:
            frame = pl.from_arrow(asking.run(connection, text).read_all())
        finally:
            connection.close()
    return frame if isinstance(frame, pl.DataFrame) else frame.to_frame()


def ranks(report: str | Path) -> pl.DataFrame:
    """Return one row per lane: who it is, its steps, and ns per step of each state of the device.

    Raises:
        UsageError: the folder holds no ``result.json``.
    """
    path = Path(report) / "result.json"
    if not path.is_file():
        raise UsageError(f"{report} holds no result.json", hint="run nsysflow report first")
    rows = json.loads(path.read_text(encoding="utf-8"))["ranks"]
    names = ("label", "rank", "host", "device", "gpu_name", "steps_kept", "period_ns", "mfu")
    lanes = [
        {name: row[name] for name in names}
        | {bucket: ns // max(1, row["steps_kept"]) for bucket, ns in row["buckets"].items()}
        for row in rows
    ]
    return pl.DataFrame(lanes, infer_schema_length=None)
