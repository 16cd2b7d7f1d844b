"""What cannot be converted is said in one line; a store is whole or not there."""

from __future__ import annotations

import os
import re
import socket
import sqlite3
from pathlib import Path

import pytest

from nsysflow.convert import convert_trace, store_key, trace_folder
from nsysflow.errors import InputError
from nsysflow.settings import Limits, Settings
from tests.support.export import (
    KERNEL,
    RUNTIME,
    Export,
)
from tests.support.stores import (
    as_input,
    converted,
    one_kernel,
    refused,
)


def test_a_capture_without_gpu_work(tmp_path: Path) -> None:
    export = Export()
    for number in range(200):
        export.api("cudaLaunchKernel_v7000", number, number + 1)
    for number in range(4):
        export.nvtx(f"step {number}", number, number + 1)
    error = refused(export.write_sqlite(tmp_path / "x.sqlite"))
    assert error.no_gpu_work
    assert "no GPU work recorded (CUDA API calls: 200, NVTX ranges: 4)" in error.message
    # The same when every table of the schema is there, or when no device row has a usable time.
    export.lazy = False
    assert refused(export.write_sqlite(tmp_path / "x.sqlite")).no_gpu_work
    export.kernel("a", 0, 0)
    error = refused(export.write_sqlite(tmp_path / "x.sqlite"))
    assert error.no_gpu_work
    assert "without usable times" in error.message


def test_a_capture_that_failed(tmp_path: Path) -> None:
    export = Export()
    export.gpu(0, "NVIDIA H100", "a")
    export.system("Hostname", "h")
    error = refused(export.write_sqlite(tmp_path / "x.sqlite"))
    assert not error.no_gpu_work
    assert error.stage == "convert"
    assert "no event table" in error.message
    assert "TARGET_INFO_GPU" in error.message


def test_kernels_in_an_unknown_table(tmp_path: Path) -> None:
    path = Export().write_sqlite(tmp_path / "x.sqlite")
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL_V9 (begin INTEGER)")
        db.execute("CREATE TABLE NVTX_EVENTS (start INTEGER, end INTEGER)")
    db.close()
    error = refused(path)
    assert "CUPTI_ACTIVITY_KIND_KERNEL_V9" in error.message
    assert not error.no_gpu_work


def test_a_database_of_something_else(tmp_path: Path) -> None:
    path = tmp_path / "x.sqlite"
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE cookies (id INTEGER)")
    db.close()
    assert "no nsys export" in refused(path).message


def test_foreign_tables_beside_an_export_are_ignored(tmp_path: Path) -> None:
    path = one_kernel().write_sqlite(tmp_path / "x.sqlite")
    with sqlite3.connect(path) as db:
        db.execute('CREATE TABLE "odd ""name" (start TEXT)')
        db.execute("CREATE VIEW NVTX_EVENTS AS SELECT 1 AS start, 2 AS end")
        db.execute("CREATE TABLE my_notes (note TEXT)")
    db.close()
    store = converted(path)
    assert store.capture["tables"]["NVTX_EVENTS"] == "absent"
    assert len(store.rows("op")) == 1


@pytest.mark.parametrize("column", ["start", "end"])
def test_kernels_without_times_are_said(tmp_path: Path, column: str) -> None:
    export = Export(drop_columns={KERNEL: {column}})
    export.kernel("a", 1, 2)
    assert f"no column {column}" in refused(export.write_sqlite(tmp_path / "x.sqlite")).message


def test_the_store_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = one_kernel().write_sqlite(tmp_path / "x.sqlite")
    store = converted(path)
    before = (store.folder / "capture.json").read_bytes()
    for name in (store.folder.name, "nsysflow-scratch"):
        stale = store.folder.parent / f".{name}.{socket.gethostname()}-999999999"
        stale.mkdir()
        (stale / "op.parquet").write_bytes(b"half")
    Path(path).write_bytes(b"broken")
    with pytest.raises(InputError):
        converted(path)
    assert (store.folder / "capture.json").read_bytes() == before
    one_kernel().write_sqlite(path)
    again = converted(path)
    assert again.folder == store.folder
    # Nothing is left beside it: no half store, no scratch.
    assert [entry.name for entry in store.folder.parent.iterdir()] == [store.folder.name]


def test_the_input_is_never_touched(tmp_path: Path) -> None:
    run = tmp_path / "run"
    path = one_kernel().write_sqlite(run / "x.sqlite", wal=True)
    before = (path.read_bytes(), path.stat().st_mtime_ns, sorted(run.iterdir()))
    convert_trace(
        as_input(path), tmp_path / "out" / "x", Settings(), Limits(temp_dir=tmp_path / "t")
    )
    assert (path.read_bytes(), path.stat().st_mtime_ns, sorted(run.iterdir())) == before


def test_the_key_follows_content_and_settings(tmp_path: Path) -> None:
    path = one_kernel().write_sqlite(tmp_path / "x.sqlite")
    key = store_key(as_input(path), Settings())
    os.utime(path, ns=(1, 1))
    assert store_key(as_input(path), Settings()) == key
    assert store_key(as_input(path), Settings(redact=False)) == key
    assert store_key(as_input(path), Settings(kernel_rules=(("x", "gemm"),))) != key
    changed = bytearray(path.read_bytes())
    changed[-1] ^= 1
    path.write_bytes(changed)
    os.utime(path, ns=(1, 1))
    assert store_key(as_input(path), Settings()) != key
    folder = one_kernel().write_parquetdir(tmp_path / "x_pqtdir")
    key = store_key(as_input(folder, "parquetdir"), Settings())
    (folder / f"{RUNTIME}.parquet").unlink()
    assert store_key(as_input(folder, "parquetdir"), Settings()) != key
    with pytest.raises(InputError):
        store_key(as_input(tmp_path / "gone.sqlite"), Settings())


def test_the_folder_of_a_trace_is_plain_and_its_own() -> None:
    names = [
        trace_folder(as_input(Path(name))) for name in ("a b.sqlite", "a_b.sqlite", "..sqlite")
    ]
    assert len(set(names)) == 3
    assert all(re.fullmatch(r"[A-Za-z0-9_-][A-Za-z0-9._-]*", name) for name in names)
