"""Waiting for data: the threads that load it, by name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsysflow.render import render_rank
from tests.support.engine import analysed
from tests.support.export import Export, us
from tests.support.html_page import Page
from tests.support.schemas import check

if TYPE_CHECKING:
    from pathlib import Path


def waiting() -> Export:
    """Every step waits 500 µs in a loader range of the launching thread."""
    export = Export()
    at = us(10)
    for number in range(5):
        export.nvtx(f"step {number}", at, at + us(700))
        export.nvtx("next_batch", at + us(1), at + us(501))
        export.kernel("gemm", at + us(510), at + us(690), launch=(at + us(502), at + us(505)))
        at += us(700)
    return export


def document(export: Export, folder: Path) -> dict[str, Any]:
    made: dict[str, Any] = analysed(export, folder)[(100, 0)]
    check(made, "rank-1")
    return made


def test_loader_threads_are_named(tmp_path: Path) -> None:
    export = waiting()
    export.thread("pt_data_pin", tid=201)
    export.thread("python3", tid=100)
    export.thread("pt_autograd_0", tid=202)
    for worker in (301, 302):
        export.thread("pt_data_worker", pid=worker)
    # Another rank of the file has its own loader, of the same thread number.
    export.kernel("gemm", us(10), us(20), pid=400, device=1, launch=(us(1), us(2)))
    export.thread("pt_data_pin", pid=400, tid=201)
    made = document(export, tmp_path)
    found = made["data_loading"]
    assert found["workers"] == [
        {"name": "pt_data_pin", "count": 1, "own": True},
        {"name": "pt_data_worker", "count": 2, "own": False},
    ]
    (card,) = [f for f in made["findings"] if f["id"] == "data_loading"]
    assert card["status"] == "opportunity"
    assert card["evidence"][1] == (
        "loader threads: 1 pt_data_pin, 2 pt_data_worker (in processes without a GPU)"
    )
    assert "1 × pt_data_pin" in Page(render_rank(made)).text


def test_without_names_nobody_is_named(tmp_path: Path) -> None:
    assert document(waiting(), tmp_path)["data_loading"]["workers"] is None


def test_no_loader_among_the_names_is_said(tmp_path: Path) -> None:
    export = waiting()
    export.thread("python3", tid=100)
    made = document(export, tmp_path)
    assert made["data_loading"]["workers"] == []
    (card,) = [f for f in made["findings"] if f["id"] == "data_loading"]
    assert "no thread is named like a loader" in card["evidence"][1]
