"""Folders may be called anything, and a large table may lie in several files."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from nsysflow.convert import work
from nsysflow.parquet_files import files_of, table_of
from tests.support.command import in_process, report
from tests.support.export import Export, ms, us
from tests.support.stores import store_of

# The first and the last of these go to the same file.
PIDS = (100, 101, 132)


def stepped(*pids: int) -> Export:
    export = Export()
    for step in range(4):
        begin = ms(10 * step + 1)
        export.nvtx(f"step {step}", begin, begin + ms(10))
        for pid in pids:
            export.kernel(
                "gemm",
                begin + ms(1),
                begin + ms(1) + us(10 * (pid - 99)),
                launch=(begin, begin + us(5)),
                pid=pid,
            )
            export.os_call("read", begin, begin + us(3), pid=pid)
    return export


def documents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.glob("*.json"))}


@pytest.mark.parametrize(
    ("name", "twin"),
    [("lane=7", "run"), ("start_ns=1", "run"), ("run[1]", "run1"), ("a*b", "aXb"), ("q?x", "qxx")],
)
def test_names_of_folders_are_names(name: str, twin: str, tmp_path: Path) -> None:
    """No pattern, and no column: nothing but what lies in that very folder is read."""
    plain = tmp_path / "plain"
    stepped(100).write_parquetdir(plain / "in" / "rank0_pqtdir")
    assert report(plain / "in", plain / "out", jobs=1).ended.code == 0
    for folder in (name, twin):
        shutil.copytree(plain / "in", tmp_path / folder / "in")
        in_process("convert", tmp_path / folder / "in", "-o", tmp_path / folder / "out")
    assert report(tmp_path / name / "in", tmp_path / name / "out", jobs=1).ended.code == 0
    assert documents(tmp_path / name / "out") == documents(plain / "out")


def test_calls_of_many_processes_lie_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every row once, no process in two files, the same answers, and ``sql`` sees one table."""
    run = stepped(*PIDS).write_sqlite(tmp_path / "run" / "node.sqlite").parent
    together = report(run, tmp_path / "together", jobs=1)
    monkeypatch.setattr(work, "ROWS_WORTH_FILES", 1)
    apart = report(run, tmp_path / "apart", jobs=1)
    assert together.ended.code == apart.ended.code == 0
    assert documents(apart.folder) == documents(together.folder)
    (trace,) = (path for path in (apart.folder / "store").iterdir() if path.name.startswith("node"))
    assert len(files_of(trace, "api")) == len(files_of(trace, "os_call")) == 2
    assert {table_of(path) for path in trace.glob("*.parquet")} >= {"api", "op", "nvtx"}
    question = "SELECT count(*), count(DISTINCT process) FROM api WHERE start_ns < end_ns"
    asked = in_process("sql", apart.folder, question, "--format", "csv")
    assert asked.out.splitlines()[1] == "12,3"


def test_parts_of_a_table_hold_the_columns_of_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = store_of(stepped(*PIDS), tmp_path / "whole")
    monkeypatch.setattr(work, "ROWS_WORTH_FILES", 1)
    parts = store_of(stepped(*PIDS), tmp_path / "parts")
    assert len(files_of(parts.folder, "api")) == 2
    assert parts.rows("api") == whole.rows("api")
    assert parts.rows("os_call") == whole.rows("os_call")
    assert len(whole.rows("api")[0]) == 8
