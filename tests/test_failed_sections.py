"""A question that fails, or could not be asked, costs its own section and nothing else."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import duckdb
import pytest

from nsysflow.analyse import document as documents
from nsysflow.analyse import job as across_ranks
from nsysflow.analyses import ANALYSES
from nsysflow.analyses.base import Analysis
from nsysflow.findings import QUESTIONS
from nsysflow.render import render_index, render_rank
from nsysflow.render.words import section_title
from tests.support.command import in_process
from tests.support.documents import full
from tests.support.engine import analysed
from tests.support.job_documents import job
from tests.support.random_trace import random_run
from tests.support.schemas import check

if TYPE_CHECKING:
    from pathlib import Path

SEED = 8
MADE_ACROSS = {"collectives"}


def fails(*_: Any, **_more: Any) -> NoReturn:
    raise ValueError("</script>broken")


def names(each: Analysis) -> str:
    return each.name


def head(page: str) -> str:
    return page.partition('id="summary"')[2].partition("</section>")[0]


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
        assert f"Failed on this page:</b> {section_title(failing.name)}." in head(page)
        assert "Failed on this page" not in head(render_rank(whole[lane]))


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


def test_the_head_of_the_job_page_names_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for rank in (0, 1):
        random_run(SEED)[0].write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    broken = tuple(
        replace(a, judge=fails) if a.name in ("syncs", "kernels") else a for a in ANALYSES
    )
    command = ("report", tmp_path / "run", "-o", tmp_path / "out", "--jobs", 1)
    index = tmp_path / "out" / "index.html"
    with monkeypatch.context() as patched:
        patched.setattr(documents, "ANALYSES", broken)
        patched.setattr(across_ranks, "study", fails)
        assert in_process(*command).code == 0
    told = head(index.read_text("utf-8"))
    assert (
        "Failed here: Walk, Stragglers, Communicators, Pipeline, Clocks; "
        "on the pages of rank 0, rank 1: Blocking calls, Kernels. The rest stands."
    ) in told
    assert "</script>broken" not in told
    assert in_process(*command).code == 0
    assert "Failed" not in head(index.read_text("utf-8"))


def test_the_sections_of_a_hostile_label_are_named_safely() -> None:
    made = job(6)
    label = made["ranks"][0]["label"] = "<img src=x>"
    made["ranks"][0]["rank"] = None
    lanes = [
        {"lane": {"label": row["label"]}, "capture": full(layers=1)["capture"]} | failure
        for row, failure in zip(made["ranks"], [{"nvtx": {"status": "error"}}] * 6, strict=True)
    ]
    page = render_index(made, lanes)
    who = "&lt;img src=x&gt;, rank 1, rank 2, rank 3 and 2 more"
    assert f"Failed on the pages of {who}: NVTX ranges. The rest stands." in head(page)
    assert label not in page


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
