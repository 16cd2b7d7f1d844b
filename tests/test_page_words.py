"""Numbers and sentences of the pages: units, shares, verdicts, sums of bounds."""

from __future__ import annotations

from typing import Any

import pytest

from nsysflow.analyses import ANALYSES
from nsysflow.findings import QUESTIONS
from nsysflow.model import BUCKETS
from nsysflow.render import findings, render_rank, units, verdict
from tests.support import documents
from tests.support.html_page import Page

NN = "\u202f"


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0"),
        (32, f"<0.1{NN}µs"),
        (320, f"0.3{NN}µs"),
        (9_940, f"9.9{NN}µs"),
        (9_960, f"10{NN}µs"),
        (87_400, f"87{NN}µs"),
        (999_600, f"1.00{NN}ms"),
        (4_500_000, f"4.50{NN}ms"),
        (9_996_000, f"10.0{NN}ms"),
        (910_200_000, f"910.2{NN}ms"),
        (1_234_500_000, f"1,234.5{NN}ms"),
        (12_400_000_000, f"12.4{NN}s"),
        (-4_500_000, f"\u22124.50{NN}ms"),
    ],
)
def test_durations(ns: int, text: str) -> None:
    assert units.duration(ns) == text


@pytest.mark.parametrize(
    ("frac", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (0.0004, "<0.1"),
        (0.0005, "0.1"),
        (0.2879, "28.8"),
        (0.99951, ">99.9"),
        (1, "100.0"),
        (1.0, "100.0"),
    ],
)
def test_shares_never_round_to_nothing_or_everything(frac: float, text: str) -> None:
    assert units.share(frac) == f"{text}{NN}%"


def test_sizes_ranges_and_sets() -> None:
    assert units.size(999) == f"999{NN}B"
    assert units.size(53_687_091_200) == f"53.7{NN}GB"
    assert units.rate(96_100_000_000) == f"96.1{NN}GB/s"
    assert units.spread(884_100_000, 951_700_000) == f"884.1 – 951.7{NN}ms"
    assert units.spread(30_971_000, 31_004_000) == f"31.0{NN}ms"
    assert units.spread(9_994_000, 9_996_000) == f"10.0{NN}ms"
    assert units.numbers([3, 1, 2, 9, 7, 8, 20]) == "1–3, 7–9, 20"
    assert units.numbers(range(0, 430, 10)) == "0, 10 … 420"
    assert units.numbers([0, 2, 3, 9, 11, 20, 40]) == "0 – 40, 7 of them"
    assert units.utc(1_796_133_720_000_000_000) == "2026-12-01T14:02:00Z"
    assert units.two_digits(2_140) == f"2.1{NN}µs"


def test_a_column_has_one_unit_unless_it_spans_three_decades() -> None:
    unit = units.column_unit([163_500_000, 5_200_000, 0])
    assert unit
    assert (unit.name, unit.text(163_500_000), unit.text(0)) == ("ms", "163.5", "0")
    assert units.column_unit([1_000, 1_000_000_001]) is None
    assert units.column_unit([0, 0]) is None


def buckets(**share: int) -> dict[str, int]:
    values = {name: share.get(name, 0) for name in BUCKETS}
    return {"window_ns": sum(values.values()), **values}


@pytest.mark.parametrize(
    ("held", "text"),
    [
        (
            buckets(compute_only=56, exposed_comm=29, idle=15),
            "29.0 % of each step is communication that nothing hides; "
            "for another 15.0 % the GPU idles.",
        ),
        (
            buckets(compute_only=56, exposed_comm=4, idle=40),
            "The GPU idles for 40.0 % of each step; no other loss exceeds 5 %.",
        ),
        (
            buckets(compute_only=90, compute_comm_overlap=4, idle=3, exposed_comm=3),
            "The GPU computes for 94.0 % of each step; no single loss exceeds 5 %.",
        ),
        (
            buckets(compute_only=70, exposed_mem=20, graph_opaque=10),
            "20.0 % of each step is memory copies that nothing hides; "
            "another 10.0 % is CUDA graphs that were not split into kernels.",
        ),
    ],
)
def test_the_verdict_names_the_two_largest_losses(held: dict[str, int], text: str) -> None:
    assert verdict.losses(held, "each step").replace(NN, " ") == text


def test_the_verdict_says_first_what_makes_it_doubtful() -> None:
    page = Page(render_rank(documents.minimal())).text.replace(NN, " ")
    assert (
        "No training steps found; figures cover the whole capture. "
        "As far as this capture shows, the GPU idles for 75.0 % of the capture" in page
    )
    document = documents.full()
    document["mfu"]["checks"][0].update(verdict="wrong", text="η is 1.3, impossible")
    assert (
        "The numbers below don’t fit together: η is 1.3, impossible"
        in Page(render_rank(document)).text
    )


def finding(bucket: str | None, bound: int, category: str = "host_overhead") -> dict[str, Any]:
    base = documents.full(layers=1)["findings"][0]
    return {**base, "bucket": bucket, "bound_ns_per_step": bound, "category": category}


@pytest.mark.parametrize(
    ("found", "total", "number"),
    [
        ([finding("host_sync", 10), finding("launch_bound", 5)], 15, 2),
        ([finding("host_sync", 10), finding("host_sync", 7)], 10, 1),
        ([finding("idle", 12), finding("host_sync", 10)], 12, 1),
        ([finding("idle", 12), finding("host_sync", 10), finding("gc", 5)], 15, 2),
        ([finding(None, 50), finding("exposed_comm", 20)], 20, 1),
        ([finding("wait_gated", 50, "stragglers")], 0, 0),
        ([finding("idle", 80), finding("exposed_comm", 80)], 100, 2),
    ],
)
def test_only_bounds_of_disjoint_buckets_are_added(
    found: list[dict[str, Any]], total: int, number: int
) -> None:
    assert findings.added(found, 100) == (total, number)


def test_the_page_says_when_each_analysis_misleads() -> None:
    page = Page(render_rank(documents.full()))
    for analysis in ANALYSES:
        assert f"{analysis.title}: {analysis.question}" in page.text
        assert analysis.misleads in page.text


def test_cards_and_the_command_line_have_the_same_titles_and_words() -> None:
    """The titles over a card's texts are those under which ``analyses NAME`` prints them."""
    question = next(each for each in QUESTIONS if each.trade_off and each.capture)
    document = documents.full()
    card = next(f for f in document["findings"] if f["status"] == "opportunity")
    card |= {"why": question.why, "fix": question.fix, "trade_off": question.trade_off,
             "verify": question.verify, "experiment": question.experiment,
             "capture_next": question.capture}  # fmt: skip
    page = Page(render_rank(document))
    for title, text in question.parts():
        assert title in page.text
        assert text in page.text
