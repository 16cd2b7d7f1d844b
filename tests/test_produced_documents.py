"""What a report really writes: valid by schema, and pages that render the same from it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nsysflow.render import render_index, render_rank
from tests.support.browser import browser, url
from tests.support.command import in_process
from tests.support.schemas import check

TRACES = ("dlrm8", "a100_ddp_rank0.sqlite", "a100_cudagraph.sqlite", "t4_cupy_osrt.sqlite")


@pytest.fixture(scope="module")
def reports(traces: Path, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    made = []
    for name in TRACES:
        out = tmp_path_factory.mktemp("report") / "out"
        ended = in_process("report", traces / name, "-o", out)
        assert ended.code == 0, ended.err
        made.append(out)
    return made


def documents(reports: list[Path]) -> Iterator[tuple[Path, dict[str, object]]]:
    for report in reports:
        for file in sorted(report.glob("*.json")):
            yield file, json.loads(file.read_text(encoding="utf-8"))


@pytest.mark.slow
def test_every_document_of_a_real_trace_is_valid(reports: list[Path]) -> None:
    seen = 0
    for file, document in documents(reports):
        check(document, "result-1" if file.name == "result.json" else "rank-1")
        seen += 1
    assert seen == len(TRACES) + 8 + 3


@pytest.mark.slow
def test_pages_are_functions_of_the_documents(reports: list[Path]) -> None:
    for report in reports:
        made = dict(documents([report]))
        result = made.pop(report / "result.json")
        again = {
            file.with_suffix(".html"): render_rank(rank, result) for file, rank in made.items()
        }
        again[report / "index.html"] = render_index(result, list(made.values()))
        for file, text in again.items():
            assert file.read_text(encoding="utf-8") == text
            assert len(text.encode()) < 500_000


@pytest.mark.slow
def test_real_pages_are_silent_and_link_to_each_other(reports: list[Path], chromium: str) -> None:
    pytest.importorskip("playwright", reason="no Playwright: pip install playwright")
    with browser(chromium) as chrome:
        page = chrome.new_page(viewport={"width": 1280, "height": 900})
        said: list[str] = []
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        for report in reports:
            for file in sorted(report.glob("*.html")):
                page.goto(url(file))
                assert page.locator("h1").bounding_box()["y"] < 200
                assert page.locator("#bar6").bounding_box()["y"] < 600
            page.goto(url(report / "index.html"))
            page.click("#t-ranks tbody a")
            page.click("header a")
            assert page.url == url(report / "index.html")
        assert said == []
