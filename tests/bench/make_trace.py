"""Make the large exports of the benchmark: once, beside the tree, in bounded memory."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from pathlib import Path

from tests.support.tables import columns_of

SQL = Path(__file__).with_name("trace.sql")
TABLES = (
    *("StringIds", "META_DATA_EXPORT", "TARGET_INFO_SESSION_START_TIME", "ANALYSIS_DETAILS"),
    *("PROCESSES", "ThreadNames", "TARGET_INFO_GPU", "TARGET_INFO_CUDA_DEVICE"),
    *("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_MEMCPY"),
    *("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION", "NVTX_EVENTS"),
)
FAST = """
PRAGMA journal_mode = OFF;
PRAGMA synchronous = OFF;
PRAGMA locking_mode = EXCLUSIVE;
PRAGMA cache_size = -200000;
"""


def folder() -> Path:
    """Where the exports are kept: outside the tree, since they are large."""
    default = Path.home() / ".cache" / "nsysflow-bench"
    path = Path(os.environ.get("NSYSFLOW_BENCH_DIR", default))
    path.mkdir(parents=True, exist_ok=True)
    return path


def export(kernels: int, *, processes: int = 8, first_pid: int = 1001) -> Path:
    """Return an export of so many kernels over all processes, made now if it is not there.

    Its name carries a digest of how it is made, so that a changed generator makes a new one.
    """
    digest = hashlib.sha256(SQL.read_bytes()).hexdigest()[:8]
    path = folder() / f"{kernels}-{processes}-{first_pid}-{digest}.sqlite"
    if not path.exists():
        partial = path.with_suffix(".partial")
        partial.unlink(missing_ok=True)
        _write(partial, kernels // processes, processes, first_pid)
        partial.rename(path)
    return path


def _write(path: Path, kernels: int, processes: int, first_pid: int) -> None:
    database = sqlite3.connect(path)
    database.executescript(FAST)
    for table in TABLES:
        columns = ", ".join(column.ddl(strict=True) for column in columns_of(table))
        database.execute(f'CREATE TABLE "{table}" ({columns})')
    database.execute("CREATE TEMP TABLE size (kernels, processes, first_pid)")
    database.execute("INSERT INTO size VALUES (?, ?, ?)", (kernels, processes, first_pid))
    database.commit()
    # NOT NULL columns that the script leaves out would be refused; zero is what nsys writes there.
    database.executescript(SQL.read_text("utf-8"))
    database.commit()
    database.close()
