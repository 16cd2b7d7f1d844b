"""What the pages say of a rank among others, and that bars, marks and columns do not mislead."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from nsysflow.render import bars, render_rank, timeline_drawing
from nsysflow.render.bars import Part
from nsysflow.render.questions import but_not_asked, questions
from nsysflow.render.role import brief, role
from nsysflow.render.sections import window
from nsysflow.render.tables import Column, build
from nsysflow.render.words import BUCKET
from tests.support import documents
from tests.support.html_page import Page

NN = "\u202f"


def job(*late: str, verdict: str = "straggler", gain: int = 12_000_000) -> dict[str, Any]:
    """What a result document says about late ranks; the job's step is 100 ms."""
    items = [
        {
            "label": label, "rank": int(label), "verdict": verdict, "cause": "slow compute",
            "gain_bound_ns_per_step": gain, "last_frac": 1.0, "median_late_ns": 5,
            "evidence": ["last in 9 of 9 steps among the 8 ranks of 0x1"],
        }
        for label in late
    ]  # fmt: skip
    return {
        "stragglers": {"status": "ok", "items": items, "late": {"rows": [1], "steps": [2]}},
        "walk": {"status": "ok", "step_ns": 100_000_000, "items": [3]},
    }


def waiting(ns: int) -> dict[str, Any]:
    document = documents.full()
    parts = document["causes"]["exposed_comm"]
    document["causes"]["exposed_comm"] = {**dict.fromkeys(parts, 0), "wait_gated": ns}
    return document


def test_the_late_rank_is_told_so_on_its_own_page() -> None:
    document = documents.full()
    label = document["lane"]["label"]
    html = render_rank(document, job(label))
    text = Page(html).text.replace(NN, " ")
    assert "This rank makes the others wait: the same kernels take longer; last in 9 of 9" in text
    assert "Mending it saves at most 12.0 ms of the job’s step (12.0 %)." in text
    assert f'href="index.html#s-{label}"' in html
    # The question about its own waiting does not say that all is well.
    assert "This rank makes the others wait, see above" in text
    assert "makes the others wait" not in Page(render_rank(document)).text


def test_a_waiting_rank_is_told_for_whom() -> None:
    document = waiting(10**18)
    over = window(document)
    document["causes"]["exposed_comm"]["wait_gated"] = round(0.08 * over.ns)
    found = role(document, job("0005", "0006"), over)
    assert found is not None
    text = found.text.replace(NN, " ").replace("\u00a0", " ")
    assert "(8.0 %). In most steps rank 5, rank 6 come last." in text
    assert found.href == "index.html#stragglers"
    nobody = role(document, job("0005", verdict="rotating"), over)
    assert nobody is not None
    assert nobody.text.endswith("No rank comes last in most steps.")
    maybe = role(document, job("0007", verdict="cannot_tell"), over)
    assert maybe is not None
    assert maybe.text.endswith("ank\u00a07 came last, in too few steps to rule out chance.")
    none = role(document, job(), over)
    assert none is not None
    assert none.text.endswith("No straggler was found.")
    document["causes"]["exposed_comm"]["wait_gated"] = round(0.04 * over.ns)
    assert role(document, job("0005"), over) is None


@pytest.mark.parametrize("status", ["not_applicable", "withheld", "error"])
def test_nothing_is_said_where_the_job_could_not_look(status: str) -> None:
    document = waiting(10**18)
    silent = {**job("0005"), "stragglers": {"status": status, "reason": "one lane"}}
    assert role(document, silent, window(document)) is None
    assert role(document, None, window(document)) is None


def test_the_brief_holds_what_the_pages_need_and_no_more() -> None:
    full = job(documents.full()["lane"]["label"])
    small = brief(full)
    assert "late" not in small["stragglers"]
    assert set(small["walk"]) == {"status", "step_ns"}
    assert render_rank(documents.full(), small) == render_rank(documents.full(), full)


def test_nobody_is_said_to_have_looked_at_a_lone_rank_for_others() -> None:
    document = documents.full()
    for finding in document["findings"]:
        finding["status"] = "ok"
    document["categories"] |= {
        name: {"ns": 0, "frac": 0.0, "finding": None} for name in ("stragglers", "pipeline_bubble")
    }
    alone = {"status": "not_applicable", "reason": "one lane"}
    full = {"stragglers": alone, "walk": alone, "pipeline": alone}
    for told in (full, brief(full)):
        rows = {row.title: row for row in but_not_asked(questions(document, ()), told)}
        for title in ("Stragglers", "Pipeline bubble"):
            row = rows[title]
            assert (row.chip, row.text, row.share_value) == ("not applicable", "one lane", "0.0")
    # Time that somebody waited is not explained away, nor an answer that is missing.
    document["categories"]["stragglers"]["frac"] = 0.1
    rows = {row.title: row for row in but_not_asked(questions(document, ()), full)}
    assert rows["Stragglers"].chip is None
    assert but_not_asked(questions(document, ()), None) == questions(document, ())


def test_a_rank_says_that_the_job_may_be_surer() -> None:
    document = documents.full()
    said = "are of this rank alone; the job’s page, which has the walk over all ranks"
    assert said in Page(render_rank(document, job())).text
    assert said not in Page(render_rank(document)).text
    assert 'href="#g-conf"' in render_rank(document)


@pytest.mark.parametrize("seed", range(20))
def test_the_mark_of_a_bound_stays_on_its_track(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    x, frac = draw.random(), draw.choice([draw.random(), 1.0, 1.5])
    mark = bars.track("idle", x, frac)
    left, width = float(mark.x.rstrip("%")), float(mark.width.rstrip("%"))
    assert width == pytest.approx(100 * min(frac, 1), abs=0.001)
    assert 0 <= left <= left + width <= 100.001
    if x + frac <= 1:
        assert left == pytest.approx(100 * x, abs=0.001)


def test_a_share_stands_alone_only_where_a_legend_names_the_fill() -> None:
    parts = [Part(BUCKET["compute_only"], 90), Part(BUCKET["exposed_comm"], 10)]
    named = bars.stack(parts, 100)
    assert [each.label for each in named] == [f"Compute only 90.0{NN}%", f"10.0{NN}%"]
    assert [each.label for each in bars.stack(parts, 100, named=False)][1] == ""


def test_columns_that_are_compared_share_their_unit() -> None:
    rows = [{"low": 39_000, "high": 343_000}, {"low": 61_700_000, "high": 61_900_000}]
    alone = build("t", "T", (Column("low", "Low", "ns"), Column("high", "High", "ns")), rows)
    assert alone.headers == ("Low", "High, ms")
    columns = (Column("low", "Low", "ns", group="g"), Column("high", "High", "ns", group="g"))
    together = build("t", "T", columns, rows)
    assert together.headers == ("Low", "High")
    assert [cell.text for cell in together.rows[0].cells] == [f"39{NN}µs", f"343{NN}µs"]


@pytest.mark.parametrize("seed", range(30))
def test_no_merged_mark_hides_a_lower_one(seed: int) -> None:
    draw = Random(seed)  # noqa: S311
    marks = sorted(
        (draw.randrange(40), draw.randrange(1, 12), draw.randrange(3), -1, 2, draw.random())
        if draw.random() < 0.8
        else (draw.randrange(40), draw.randrange(1, 12), draw.randrange(3), 0, 1, 1.0)
        for _ in range(12)
    )
    level = timeline_drawing.levels(marks)
    for one, front in zip(marks, level, strict=True):
        for other, back in zip(marks, level, strict=True):
            overlap = one[0] < other[0] + other[1] and other[0] < one[0] + one[1]
            if overlap and one[5] < other[5]:
                assert front > back
    # Of two that overlap and nothing else the lower one is in front.
    assert timeline_drawing.levels([(0, 4, 0, -1, 2, 0.2), (2, 4, 1, -1, 2, 0.6)]) == [2, 1]
    assert timeline_drawing.levels([(0, 4, 0, -1, 2, 0.6), (2, 4, 1, -1, 2, 0.2)]) == [1, 2]
    assert timeline_drawing.levels([(0, 4, 0, 0, 1, 1.0), (2, 4, 1, -1, 2, 0.2)]) == [0, 1]
