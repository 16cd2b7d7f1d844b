"""Public problem reports on annotations, and siblings of theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.export import Export, ms, us
from tests.support.one_rank import run_one

if TYPE_CHECKING:
    from pathlib import Path


def test_n01_a_step_left_open_in_the_middle_gives_its_work_to_no_other(tmp_path: Path) -> None:
    export = Export()
    for step in range(5):
        begin = ms(100 * step) + us(1)
        export.nvtx(f"step {step}", begin, None if step == 2 else begin + ms(100))
        launch = (begin + ms(1), begin + ms(2))
        export.kernel("gemm", begin + ms(10), begin + ms(90), launch=launch)
    document = run_one(tmp_path, export)
    steps = document["steps"]
    assert [(item["number"], item["reason"]) for item in steps["dropped"]] == [
        (0, "leading_gap_unseen"),
        (2, "open"),
    ]
    assert (steps["kept"], steps["median_ns"], steps["period_ns"]) == (3, ms(100), ms(100))
    assert document["buckets"]["compute_only"] == 3 * ms(80)
    assert document["capture"]["dropped"]["open_ranges"] == 1


def test_n01_a_range_without_a_text_costs_nothing_else(tmp_path: Path) -> None:
    export = Export()
    export.nvtx("load", ms(0), ms(5))
    export.nvtx("", ms(6), ms(9), registered=True, textId=None)
    export.nvtx("", ms(10), ms(12), registered=True, textId=999_999)
    export.kernel("gemm", ms(1), ms(20), launch=(us(5), us(9)))
    rows = {row["path"]: row for row in run_one(tmp_path, export)["nvtx"]["items"]}
    assert set(rows) == {"load", "(unnamed)"}
    assert (rows["(unnamed)"]["count"], rows["(unnamed)"]["host_ns"]) == (2, ms(5))
    assert rows["load"]["work_ns"] == ms(19)


@pytest.mark.parametrize("last", ["open", "ends elsewhere", "none"])
def test_n01_what_began_last_and_encloses_nothing_ends_no_other(tmp_path: Path, last: str) -> None:
    """A request that another thread answers, or never, may be the last thing that began."""
    export = Export()
    export.nvtx("train", ms(0), ms(100))
    export.nvtx("forward", ms(1), ms(60))
    if last == "open":
        export.nvtx("request", ms(20), None)
    elif last == "ends elsewhere":
        export.nvtx("request", ms(20), ms(99), kind=60, end_tid=177)
    for at in (10, 30, 70):
        export.kernel("gemm", ms(at) + us(20), ms(at + 2), launch=(ms(at), ms(at) + us(9)))
    rows = {row["path"]: row["work_ns"] for row in run_one(tmp_path, export)["nvtx"]["items"]}
    each = ms(2) - us(20)
    assert (rows["train"], rows["train / forward"]) == (3 * each, 2 * each)


def test_n01_one_domain_under_two_ids_is_one_domain(tmp_path: Path) -> None:
    """Every library that asks for a domain by name gets an id of its own."""
    export = Export()
    for number, domain in enumerate((0, 2, 3)):
        if domain:
            export.nvtx("libx", 0, None, kind=75, domain=domain)
        begin = ms(10 * number)
        export.nvtx("same", begin, begin + ms(5), domain=domain)
        export.kernel("gemm", begin + us(20), begin + ms(3), launch=(begin + us(1), begin + us(9)))
    rows = {(row["path"], row["domain"]): row for row in run_one(tmp_path, export)["nvtx"]["items"]}
    assert set(rows) == {("same", None), ("same", "libx")}
    both = rows[("same", "libx")]
    assert (both["count"], both["host_ns"]) == (2, ms(10))
    assert (both["work_ns"], both["projected_ns"]) == (2 * (ms(3) - us(20)),) * 2


@pytest.mark.parametrize("first", [0, 4])
def test_n01_a_domain_without_a_name_is_listed_in_one_order(tmp_path: Path, first: int) -> None:
    """Its row may look like that of the default domain: what begins first must not tell them."""
    export = Export()
    for number, domain in enumerate((first, 4 - first)):
        export.nvtx("same", ms(10 * number), ms(10 * number + 5), domain=domain)
    export.nvtx("same", ms(30), None, domain=4)
    export.kernel("gemm", ms(40), ms(50), launch=(ms(39), ms(39) + us(9)))
    rows = run_one(tmp_path, export)["nvtx"]["items"]
    assert [(row["path"], row["domain"], row["open"]) for row in rows] == [
        ("same", None, 1),
        ("same", None, 0),
    ]


@pytest.mark.parametrize("annotated", [False, True])
def test_n03_training_on_a_thread_that_is_not_the_first(tmp_path: Path, annotated: bool) -> None:
    """A worker process trains on any thread; autograd works for the only one that may be it."""
    export = Export()
    export.nvtx("backward", ms(0), ms(50), tid=101)
    if annotated:
        export.nvtx("MmBackward0", ms(5), ms(45), tid=177)
    export.thread("pt_autograd_0", tid=177)
    for index in range(8):
        begin = ms(6 + 4 * index)
        export.kernel("gemm", begin + us(20), begin + ms(2), launch=(begin, begin + us(9)), tid=177)
    document = run_one(tmp_path, export)
    rows = {row["path"]: row for row in document["nvtx"]["items"]}
    work = 8 * (ms(2) - us(20))
    assert set(rows) == {"backward", "backward / MmBackward0"} if annotated else {"backward"}
    assert {row["work_ns"] for row in rows.values()} == {work}
    assert document["causes"]["phase"]["backward"] == work


def test_n03_two_threads_that_may_be_the_one_are_not_guessed_between(tmp_path: Path) -> None:
    export = Export()
    export.nvtx("backward", ms(0), ms(50), tid=101)
    export.nvtx("load batch", ms(0), ms(50), tid=102)
    export.kernel("gemm", ms(6), ms(8), launch=(ms(5), ms(5) + us(9)), tid=177)
    rows = run_one(tmp_path, export)["nvtx"]["items"]
    assert {row["path"]: row["work_ns"] for row in rows} == {"backward": 0, "load batch": 0}


def test_n01_what_is_launched_in_two_crossing_ranges_belongs_to_both(tmp_path: Path) -> None:
    """Brute force over launches: a range holds what its thread launches between its ends."""
    ranges = {
        "outer": (0, 95), "A": (2, 50), "inside A": (5, 9), "B": (25, 75), "inside B": (28, 33),
        "C": (30, 60), "same": (40, 70), "after": (76, 90),
    }  # fmt: skip
    export = Export()
    export.nvtx("same", ms(41), ms(72), kind=60)
    for name, (start, end) in ranges.items():
        export.nvtx(name, ms(start), ms(end), kind=60 if name in "ABC" else 59)
    launches = [1, 3, 6, 26, 29, 31, 45, 46, 55, 65, 71, 74, 80]
    for at in launches:
        export.kernel("gemm", ms(at) + us(30), ms(at) + us(1030), launch=(ms(at), ms(at) + us(9)),
                      stream=7 + at % 2)  # fmt: skip
    rows: dict[str, list[int]] = {}
    for row in run_one(tmp_path, export)["nvtx"]["items"]:
        found = rows.setdefault(row["path"].rpartition(" / ")[2], [0, 0])
        found[0] += row["work_ns"]
        found[1] += row["projected_ns"]
    for name, (start, end) in ranges.items():
        if name != "same":
            inside = sum(start <= at < end for at in launches)
            assert rows[name][0] == inside * ms(1), name
            assert rows[name][1] == inside * ms(1), name
