"""An interrupt is no fault of what was being read or asked, whatever an engine makes of it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from nsysflow import interrupt
from nsysflow.analyse.workspace import Workspace
from nsysflow.executor import guarded
from nsysflow.read import parquetdir
from nsysflow.read import sqlite as reader
from nsysflow.read.raw import shaped
from tests.support.command import in_process
from tests.support.export import busy_export

TABLES = ("StringIds", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_KERNEL")
TOLD = ["nsysflow: interrupted; what was done stays, the same command goes on there"]


@pytest.fixture(autouse=True)
def signals(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Signals strike as in a process of its own."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(interrupt, "_struck", None)
    interrupt.raise_on(KeyboardInterrupt, signal.SIGTERM)
    yield
    signal.signal(signal.SIGTERM, before)


@pytest.fixture(params=["sqlite", "parquetdir"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    folder = tmp_path / "run"
    folder.mkdir()
    export = busy_export()
    export.nvtx("layer", 0, 10)
    if request.param == "sqlite":
        export.write_sqlite(folder / "rank0.sqlite")
    else:
        export.write_parquetdir(folder / "rank0")
    return folder


@pytest.mark.parametrize("table", TABLES)
def test_while_an_input_is_read(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str
) -> None:
    def struck(batch: Any, request: Any, strays: Any) -> Any:
        if request.table == table:
            signal.raise_signal(signal.SIGTERM)
        return shaped(batch, request, strays)

    monkeypatch.setattr(reader, "shaped", struck)
    monkeypatch.setattr(parquetdir, "shaped", struck)
    # What DuckDB can read itself passes no code of ours.
    monkeypatch.setattr(parquetdir.ParquetTrace, "_simple", lambda *_: False)
    before = sorted(run.rglob("*"))
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1)
    assert (ended.code, ended.failures) == (130, TOLD)
    assert not list((tmp_path / "out" / "store").glob("rank0*"))
    assert sorted(run.rglob("*")) == before


@pytest.mark.parametrize("stem", ["kernels", "lane_span", "idle_cause"])
def test_while_a_question_is_asked(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stem: str
) -> None:
    def struck(way: Any) -> Any:
        def ask(self: Workspace, asked: str, *more: Any, **named: Any) -> Any:
            if asked == stem:
                swallowed()
            return way(self, asked, *more, **named)

        return ask

    for name in ("rows", "table"):
        monkeypatch.setattr(Workspace, name, struck(getattr(Workspace, name)))
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1)
    assert (ended.code, ended.failures) == (130, TOLD)
    assert not list((tmp_path / "out").glob("*.html"))
    monkeypatch.undo()
    assert in_process("report", run, "-o", tmp_path / "out", "--jobs", 1).code == 0


def swallowed() -> None:
    """Do as DuckDB does when a signal strikes."""
    try:
        signal.raise_signal(signal.SIGTERM)
    except KeyboardInterrupt as error:
        raise duckdb.InterruptException("Interrupted!") from error


def test_a_call_does_not_end_as_a_fault() -> None:
    with pytest.raises(KeyboardInterrupt):
        guarded(swallowed, ())


def test_without_a_signal_an_error_is_an_error() -> None:
    interrupt.again()
    assert "ZeroDivisionError" in str(guarded(divmod, (1, 0)).error)
