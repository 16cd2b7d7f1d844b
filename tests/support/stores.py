"""Convert small exports and look into the stores they become."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from nsysflow.convert import convert_trace
from nsysflow.errors import InputError
from nsysflow.find import Input
from nsysflow.parquet_files import files_by_table, files_of, source
from nsysflow.settings import Limits, Settings
from tests.support.export import Export, ms

ALL_TABLES = {
    "op": (
        "lane start_ns end_ns kind comm class_rank name_id context stream correlation graph_node "
        "graph bytes copy_kind src_kind dst_kind grid block registers shared_bytes launch_thread "
        "launch_start_ns launch_end_ns launch_name_id"
    ),
    "api": "process thread start_ns end_ns name_id correlation return_value callchain",
    "os_call": "process thread start_ns end_ns name_id",
    "sync": "lane process start_ns end_ns stream context type event event_sync correlation",
    "nvtx": "process thread start_ns end_ns end_thread domain kind name_id framework open",
    "nvtx_domain": "process domain name",
    "nccl_call": (
        "process thread start_ns end_ns op bytes comm ranks rank device peer root comm_name"
    ),
    "string": "id value",
    "thread": "process thread tid name",
    "process": "process pid name",
    "kernel_name": "name_id name short_name comm class class_rank tensor_core op",
    "gpu": (
        "id name uuid bus sm_count memory_bytes bandwidth_bytes_per_s cuda_device nvidia "
        "registers_per_sm shared_bytes_per_sm warps_per_sm blocks_per_sm warp_threads"
    ),
    "cuda_device": "gpu_id cuda_id pid uuid sm_count",
    "stream": "process context stream priority flag",
    "context": "process context device null_stream",
    "diagnostic": "timestamp_ns severity source text",
    "overhead": "process thread start_ns end_ns type name_id",
    "memory_event": "process device at_ns bytes operation kind address",
    "cuda_event": "process context stream event event_sync correlation at_ns",
    "context_switch": "process gpu_id context start_ns end_ns",
    "sched": "process thread at_ns on_cpu cpu state block",
    "callchain": "id depth symbol_id module_id",
    "gpu_metric": "gpu metric at_ns value",
    "lane": "lane process pid device",
}


def as_input(path: Path, form: str = "sqlite", packed: str | None = None) -> Input:
    """Return a file or folder as the input that finding would make of it."""
    return Input(path, path.name, form, packed)  # type: ignore[arg-type]


class Store:
    """One converted trace: ``capture`` and the rows of its tables."""

    def __init__(self, folder: Path, capture: dict[str, Any]) -> None:
        """Remember where the store lies and what converting returned."""
        self.folder = folder
        self.capture = capture

    def rows(self, table: str, columns: str = "*", order: str = "ALL") -> list[tuple[Any, ...]]:
        """Return rows of a table in a total order."""
        query = f"SELECT {columns} FROM {self.source(table)} ORDER BY {order}"
        with duckdb.connect() as connection:
            return connection.execute(query).fetchall()

    def as_written(self, table: str, columns: str) -> list[tuple[Any, ...]]:
        """Return rows in the order in which they stand in the file."""
        with duckdb.connect(config={"threads": "1"}) as connection:
            return connection.execute(f"SELECT {columns} FROM {self.source(table)}").fetchall()

    def source(self, table: str) -> str:
        """Return a table as it stands in a FROM clause."""
        return source(files_of(self.folder, table))

    def texts(self, table: str, columns: str = "*", order: str = "ALL") -> list[tuple[Any, ...]]:
        """Return rows of a table with ``name_id`` resolved as ``text``."""
        query = (
            f"SELECT {columns} FROM (SELECT t.*, s.value AS text FROM {self.source(table)} t"
            f" LEFT JOIN {self.source('string')} s ON t.name_id = s.id) ORDER BY {order}"
        )
        with duckdb.connect() as connection:
            return connection.execute(query).fetchall()


def converted(
    path: Path,
    *,
    form: str = "sqlite",
    packed: str | None = None,
    settings: Settings | None = None,
    threads: int = 2,
    memory_bytes: int = 500_000_000,
    temp_dir: Path | None = None,
) -> Store:
    """Convert one export into a folder beside it."""
    target = path.parent / "store" / f"{path.name}-{form}"
    limits = Limits(threads=threads, memory_bytes=memory_bytes, temp_dir=temp_dir)
    found = as_input(path, form, packed)
    return Store(target, convert_trace(found, target, settings or Settings(), limits))


def store_of(export: Export, tmp_path: Path, **options: Any) -> Store:
    """Write an export as SQLite and convert it."""
    return converted(export.write_sqlite(tmp_path / "x.sqlite"), **options)


def refused(path: Path, form: str = "sqlite") -> InputError:
    """Return the error of an input that must fail, after checking that it left nothing."""
    with pytest.raises(InputError) as caught:
        converted(path, form=form)
    assert path.name in caught.value.message
    assert len(str(caught.value).splitlines()) == 1
    assert not list((path.parent / "store").glob("*"))
    return caught.value


def one_kernel() -> Export:
    """Return the smallest export that can be converted."""
    export = Export()
    export.kernel("gemm", ms(1), ms(2), launch=(0, 5))
    return export


def columns_of(store: Store) -> dict[str, str]:
    """Return the columns of every table of a store."""
    found = {}
    with duckdb.connect() as connection:
        for table, files in files_by_table(store.folder):
            rows = connection.execute(f"DESCRIBE FROM {source(files)}").fetchall()
            found[table] = " ".join(row[0] for row in rows)
    return found


def dropped(store: Store) -> dict[str, int]:
    """Return what was left out, by reason, without the reasons that did not occur."""
    return {kind: number for kind, number in store.capture["dropped"].items() if number}
