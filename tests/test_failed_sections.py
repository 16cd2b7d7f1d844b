"""A question that fails, or could not be asked, costs its own section and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import duckdb
import pytest

from nsysflow.analyse import document as documents
from nsysflow.analyses import ANALYSES
from nsysflow.analyses.base import Analysis
from nsysflow.findings import QUESTIONS
from nsysflow.render import render_rank
from tests.support.command import in_process
from tests.support.engine import analysed
from tests.support.random_trace import random_run
from tests.support.schemas import check

if TYPE_CHECKING:
    from pathlib import Path

SEED = 8
MADE_ACROSS = {"collectives"}


def fails(*_: Any) -> NoReturn:
    raise ValueError("</script>broken")


def names(each: Analysis) -> str:
    return each.name


@pytest.mark.parametrize("failing", ANALYSES, ids=names)
def test_one_failed_section_leaves_the_others(
    failing: Analysis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export, _ = random_run(SEED)
    whole = analysed(export, tmp_path / "whole")
    broken = tuple(replace(a, judge=fails) if a is failing else a for a in ANALYSES)
    monkeypatch.setattr(documents, "ANALYSES", broken)
    for lane, document in analysed(export, tmp_path / "broken").items():
        check(document, "rank-1")
        if failing.missing(document["capture"]["tables"]):
            assert document[failing.name] == whole[lane][failing.name]
            continue
        assert document[failing.name] == {
            "status": "error",
            "reason": "ValueError: </script>broken",
        }
        for other in ANALYSES:
            if other is not failing:
                assert document[other.name] == whole[lane][other.name]
        asking = {q.id for q in QUESTIONS if failing.name in q.needs}
        states = {f["id"]: f["status"] for f in document["findings"] if f["id"] in asking}
        assert states == dict.fromkeys(asking, "error")
        page = render_rank(document)
        assert "ValueError: &lt;/script&gt;broken" in page
        assert "</script>broken" not in page


@pytest.mark.parametrize(
    ("error", "hint"),
    [(ValueError("odd"), ""), (duckdb.OutOfMemoryException("full"), "; raise --memory-limit")],
)
def test_it_is_told_on_the_terminal_and_asked_again(
    error: Exception, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def raises(*_: Any) -> NoReturn:
        raise error

    random_run(SEED)[0].write_sqlite(tmp_path / "run" / "rank0.sqlite")
    command = ("report", tmp_path / "run", "-o", tmp_path / "out", "--jobs", 1)
    with monkeypatch.context() as patched:
        broken = tuple(replace(a, judge=raises) if a.name == "kernels" else a for a in ANALYSES)
        patched.setattr(documents, "ANALYSES", broken)
        ended = in_process(*command)
        assert ended.code == 0
        told = f"the section on kernels failed ({type(error).__name__}: {error}){hint}"
        assert told in ended.out
        assert told in in_process(*command).out
    ended = in_process(*command)
    assert ended.code == 0
    assert "failed" not in ended.out
    for path in (tmp_path / "out").glob("rank-*.json"):
        assert json.loads(path.read_text("utf-8"))["kernels"]["status"] == "ok"


@pytest.mark.parametrize("table", sorted({table for a in ANALYSES for table in a.tables}))
def test_without_a_table_its_sections_say_so(table: str, tmp_path: Path) -> None:
    export, _ = random_run(SEED)
    export.drop.add(table)
    for document in analysed(export, tmp_path).values():
        check(document, "rank-1")
        for each in ANALYSES:
            if table in each.tables:
                assert document[each.name]["status"] == "not_recorded"
                assert table in document[each.name]["reason"]
        render_rank(document)
