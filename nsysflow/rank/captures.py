"""Read what the rank table needs of each stored trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_GPU_TABLES = {"gpus": "gpu", "cuda_devices": "cuda_device"}


def gpu_rows(store: Path, trace: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of gpu and cuda_device of one trace, as ``gpus`` and ``cuda_devices``."""
    from pyarrow import parquet  # noqa: PLC0415 - heavy, and not needed to show help

    rows = {}
    for key, table in _GPU_TABLES.items():
        path = store / trace / f"{table}.parquet"
        rows[key] = parquet.read_table(path).to_pylist() if path.exists() else []
    return rows


def load_captures(store: Path) -> list[dict[str, Any]]:
    """Return capture.json of every trace in a store, with its folder name and its GPUs added."""
    captures = []
    for path in sorted(store.glob("*/capture.json")):
        capture = json.loads(path.read_text(encoding="utf-8"))
        trace = path.parent.name
        captures.append({**gpu_rows(store, trace), **capture, "trace": trace})
    return captures
