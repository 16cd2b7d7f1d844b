"""No code of a document is shown raw: what has a name in a vocabulary has words on the page."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.analyse.steps_keep import BEGUN, LASTING
from nsysflow.config import model as config_model
from nsysflow.model import (
    CLASSES,
    COLLECTIVE_OPS,
    EXPOSED_COMM_PARTS,
    IDLE_CAUSES,
    PHASES,
    RANK_SOURCES,
    STEP_DROPS,
)
from nsysflow.render import render_index, render_rank
from nsysflow.render.words import MEMORY_KIND, SETTING_KEYS
from tests.support import documents
from tests.support.document_parts import Document, listed
from tests.support.export import us
from tests.support.job_documents import job
from tests.support.job_run import Planted, job_of

if TYPE_CHECKING:
    from pathlib import Path

CODE = re.compile(r"(?<![\w.])[a-z][a-z0-9]*(?:_[a-z0-9]+)+(?![\w.])")
VOID = {"meta", "link", "br", "input", "img", "path", "rect", "line", "stop", "use"}
# Code type is for names; a bdi holds what the user called a run, a host or a file.
NAMES = {"script", "style", "code", "bdi"}
SPOKEN = ("title", "aria-label", "placeholder")


class Visible(HTMLParser):
    """Every text that a reader sees or hears, names left out."""

    def __init__(self, page: str) -> None:
        """Parse a page."""
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.texts: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        self.open.append(tag)
        if not NAMES & set(self.open):
            self.texts += [value for name, value in attrs if name in SPOKEN and value]

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data: str) -> None:
        if not NAMES & set(self.open):
            self.texts.append(data)


def codes(page: str) -> set[str]:
    """The machine names that a page shows as text."""
    return {code for text in Visible(page).texts for code in CODE.findall(text)}


def every_word() -> Document:
    """A document that uses every word of every vocabulary at once."""
    document = documents.full(steps=24)
    items = document["steps"]["items"]
    for item, reason in zip(items, STEP_DROPS, strict=False):
        item["kept"] = False
        document["steps"]["dropped"].append(
            {"index": item["index"], "number": item["number"], "reason": reason}
        )
    document["causes"] = {
        "idle": dict.fromkeys(IDLE_CAUSES, 1_000_000),
        "exposed_comm": dict.fromkeys(EXPOSED_COMM_PARTS, 1_000_000),
        "compute": dict.fromkeys(CLASSES, 1_000_000),
        "phase": dict.fromkeys(PHASES, 1_000_000),
    }
    row = document["kernels"]["classes"][0]
    document["kernels"]["classes"] = [{**row, "class": name} for name in CLASSES]
    row = document["collectives"]["items"][0]
    sources = ("payload", "nvtx", "kernel_name")
    kinds = ("fsdp", "tp", "pp", "dp", "ep", "cp", "unknown", None)
    document["collectives"] = listed(
        [
            {**row, "op": op, "op_source": sources[k % 3], "kind": kinds[k % 8]}
            for k, op in enumerate(COLLECTIVE_OPS)
        ]
    )
    row = document["memory"]["items"][0]
    document["memory"] = listed([{**row, "kind": kind} for kind in MEMORY_KIND])
    row = document["gaps"]["top"][0]
    document["gaps"]["top"] = [{**row, "cause": cause} for cause in IDLE_CAUSES]
    document["amortised"] = [
        {"kind": kind, "count": 2, "ns_each": 10**9} for kind in ("checkpoint", "eval")
    ]
    document["recompute"]["source"] = "kernel_counts"
    document["mfu"]["convention"] = "6N, no attention"
    document["mfu"]["checks"].append(
        {"id": "world", "verdict": "suspicious", "text": "world_size is 8, tokens_per_step is 9"}
    )
    return document


def test_the_vocabulary_is_whole() -> None:
    """What drops a step has words, and the settings are those that a file may hold."""
    given = {*BEGUN, *(reason.removesuffix("_flush") for reason in LASTING)}
    assert given <= set(STEP_DROPS)
    known = {*config_model._AMOUNTS, *config_model._COUNTS, "ffn_matrices", "peak_tflops"}
    assert set(SETTING_KEYS) == {key for key in known if "_" in key}


@pytest.mark.parametrize("source", RANK_SOURCES)
@pytest.mark.parametrize("gpu", ["cuda_device", "only_gpu", "cu_device", None])
def test_a_rank_page_shows_words(source: str, gpu: str | None) -> None:
    document = every_word()
    document["lane"] |= {"rank_source": source, "gpu_source": gpu}
    page = render_rank(document)
    assert codes(page) == set()
    assert "evaluation: 2 in the capture, 1,000.0\u202fms each beyond a usual step" in page


def test_a_minimal_rank_page_shows_words() -> None:
    assert codes(render_rank(documents.minimal())) == set()


def test_a_reason_nobody_knows_is_still_told() -> None:
    document = documents.full()
    document["steps"]["dropped"] = [{"index": 0, "number": None, "reason": "moon_phase"}]
    assert "moon phase" in render_rank(document)


@pytest.mark.parametrize(
    "status", ["same_clock", "aligned", "session_start", "not_aligned", "withheld"]
)
def test_a_job_page_shows_words(status: str) -> None:
    result = job(8)
    result["alignment"] |= {"status": status, "reason": "why", "method": "how"}
    kinds = ("straggler", "rotating", "transient", "cannot_tell")
    row = result["stragglers"]["items"][0]
    result["stragglers"]["items"] = [{**row, "verdict": verdict} for verdict in kinds]
    result["run"]["conflicts"] = [{"rank": 0, "labels": ["a", "b"], "sources": list(RANK_SOURCES)}]
    assert codes(render_index(result, [every_word()])) == set()


def test_produced_pages_show_words(tmp_path: Path) -> None:
    """The texts that findings, checks and notes are made of, from a run with a late rank."""

    def work(rank: int, step: int) -> int:
        return us(600 + 30 * (step % 3)) + (us(300) if rank == 2 else 0)

    def late(rank: int, step: int) -> int:
        return us(900) if (rank + step) % 2 else us(30)

    planted = Planted(4, 9, work, asked=late)
    made = job_of(planted.write(tmp_path / "run"), tmp_path)
    lanes: list[dict[str, Any]] = list(made.lanes.values())
    pages = [render_index(made.result, lanes), *map(render_rank, lanes)]
    assert set().union(*map(codes, pages)) == set()


def test_a_job_without_steps_speaks_of_captures() -> None:
    """Where no rank has steps the walk goes over captures, and no figure is called a step's."""
    result = job(2)
    for rank in result["ranks"]:
        rank["steps_kept"] = 1
    result["walk"]["steps"] = [0]
    none = {**documents.minimal(), "steps": {**documents.minimal()["steps"], "source": "none"}}
    without = " ".join(Visible(render_index(result, [none, none])).texts)
    assert "whole captures" in without
    assert "Job step" not in without
    assert "at most, per capture" in without
    found = " ".join(Visible(render_index(result, [documents.full(0), documents.full(1)])).texts)
    assert "Job step" in found
    assert "n 1, step 0" in found
