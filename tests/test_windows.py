"""Which ranges are steps, and where their windows lie on the device: planted answers."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import pytest

from nsysflow.settings import Settings
from tests.support.command import check_identity, report
from tests.support.engine import analysed
from tests.support.export import Export, ms, us
from tests.support.html_page import Page

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

STEP = ms(100)


def training(text: Callable[[int], str] | None, steps: int = 5, **nvtx: Any) -> Export:
    """A warm-up kernel, then steps of 100 ms; in each a kernel from 10 to 90, launched at 1."""
    export = Export()
    export.kernel("warm_up", us(20), ms(2), launch=(us(1), us(6)))
    for step in range(steps):
        begin = STEP * (step + 1)
        if text is not None:
            export.nvtx(text(step), begin, begin + STEP, **nvtx)
        export.kernel("gemm", begin + ms(10), begin + ms(90), launch=(begin + ms(1), begin + ms(2)))
    return export


def document_of(export: Export, tmp_path: Path, settings: Settings | None = None) -> dict[str, Any]:
    (document,) = analysed(export, tmp_path, settings).values()
    check_identity(document)
    return document


def windows(document: dict[str, Any]) -> list[tuple[int | None, int, int]]:
    return [(i["number"], i["start_ns"], i["end_ns"]) for i in document["steps"]["items"]]


@pytest.mark.parametrize(
    "text",
    [
        "step {}",
        "Step: {}",
        "train_step_{}",
        "training step {}",
        "iteration {}/500",
        "iter #{}",
        "global_step={}",
        "batch [{}]",
        "ProfilerStep#{}",
        "Step {} to 500",
        "step {} of 500",
    ],
)
def test_numbered_series_are_steps(tmp_path: Path, text: str) -> None:
    document = document_of(training(lambda step: text.format(step + 7)), tmp_path)
    assert document["steps"]["source"] == "nvtx_step"
    expected = [(step + 7, STEP * step + ms(90), STEP * (step + 1) + ms(90)) for step in range(5)]
    expected[0] = (7, ms(2), STEP + ms(90))
    assert windows(document) == expected
    assert document["steps"]["median_ns"] == STEP


@pytest.mark.parametrize(
    "text",
    [
        "layer {}",
        "step {} forward",
        "step",
        "stepper {}",
        "warmup",
        "aten::step {}",
        "request {}",
        "epoch {}",
    ],
)
def test_other_ranges_are_not(tmp_path: Path, text: str) -> None:
    document = document_of(training(text.format), tmp_path)
    assert (document["steps"]["source"], document["steps"]["kept"]) == ("none", 1)
    assert document["steps"]["confidence"] == 0.1
    assert windows(document) == [(None, us(20), 5 * STEP + ms(90))]


def test_one_range_is_no_series(tmp_path: Path) -> None:
    assert document_of(training("step {}".format, 1), tmp_path)["steps"]["source"] == "none"


def test_one_profiler_step_is_enough(tmp_path: Path) -> None:
    document = document_of(training("ProfilerStep#{}".format, 1), tmp_path)
    assert windows(document) == [(0, ms(2), STEP + ms(90))]


def test_a_librarys_loop_is_not_the_training_loop(tmp_path: Path) -> None:
    export = training("step {}".format, domain=3)
    export.nvtx("cub", 0, None, kind=75, domain=3)
    assert document_of(export, tmp_path)["steps"]["source"] == "none"


@pytest.mark.parametrize("name", ["PyTorch", "deepspeed"])
def test_some_domains_are_believed(tmp_path: Path, name: str) -> None:
    export = training("step {}".format, domain=3)
    export.nvtx(name, 0, None, kind=75, domain=3)
    assert document_of(export, tmp_path)["steps"]["source"] == "nvtx_step"


def test_registered_texts_count_too(tmp_path: Path) -> None:
    document = document_of(training("step {}".format, registered=True), tmp_path)
    assert len(windows(document)) == 5


def test_the_users_pattern_comes_first(tmp_path: Path) -> None:
    export = training("step {}".format)
    export.nvtx("my unit 41", 2 * STEP, 4 * STEP)
    settings = Settings(step_range=r"^my unit \d+$")
    document = document_of(export, tmp_path, settings)
    assert document["steps"]["source"] == "user"
    assert windows(document) == [(41, STEP + ms(90), 3 * STEP + ms(90))]


def test_the_longer_of_two_series_with_the_same_work(tmp_path: Path) -> None:
    export = training("iteration {}".format, 6)
    for step in range(3):
        begin = STEP * (2 * step + 1)
        export.nvtx(f"step {step}", begin - us(1), begin + 2 * STEP - us(1))
    document = document_of(export, tmp_path)
    assert [number for number, _, _ in windows(document)] == [0, 1, 2]
    assert document["steps"]["median_ns"] == 2 * STEP


def test_the_series_that_owns_the_work(tmp_path: Path) -> None:
    export = training("iteration {}".format, 6)
    for step in range(8):
        export.nvtx(f"batch {step}", us(100 * step + 50), us(100 * step + 60), tid=777)
    assert len(windows(document_of(export, tmp_path))) == 6


def test_optimizer_ranges_end_a_step(tmp_path: Path) -> None:
    export = training(None, 5)
    for step in range(5):
        end = STEP * (step + 2) - ms(1)
        export.nvtx("Optimizer.step#AdamW.step", end - ms(5), end)
        start = end - ms(4)
        export.kernel("adam", start + ms(1), start + ms(2), launch=(start, start + us(5)))
    document = document_of(export, tmp_path)
    assert document["steps"]["source"] == "optimizer_range"
    ends = [STEP * (step + 2) - ms(3) for step in range(5)]
    assert [(a, b) for _, a, b in windows(document)] == list(pairwise(ends))


def test_work_in_flight_belongs_to_the_wall_not_to_the_launch(tmp_path: Path) -> None:
    """The tail of a collective runs in the next window; its count stays with the launching step."""
    export = training("step {}".format)
    begin = 2 * STEP
    launch = (begin + ms(3), begin + ms(4))
    export.kernel(
        "ncclDevKernel_AllReduce_x", begin + ms(85), begin + ms(130), stream=20, launch=launch
    )
    items = document_of(export, tmp_path)["steps"]["items"]
    assert items[1]["buckets"]["compute_comm_overlap"] == ms(5)
    assert items[1]["buckets"]["exposed_comm"] == 0
    assert items[2]["buckets"]["exposed_comm"] == ms(20)
    assert items[2]["buckets"]["compute_comm_overlap"] == ms(20)


def test_a_first_step_whose_gap_was_not_seen(tmp_path: Path) -> None:
    def without_warm_up(steps: int) -> Export:
        export = training("step {}".format, steps)
        export.rows["CUPTI_ACTIVITY_KIND_KERNEL"].pop(0)
        return export

    five = document_of(without_warm_up(5), tmp_path / "five")["steps"]
    assert (five["items"][0]["start_ns"], five["items"][0]["kept"]) == (STEP + ms(10), False)
    assert five["dropped"] == [{"index": 0, "number": 0, "reason": "leading_gap_unseen"}]
    three = document_of(without_warm_up(3), tmp_path / "three")["steps"]
    assert three["kept"] == 3
    assert "leading_gap_unseen" in three["items"][0]["flags"]
    assert three["confidence"] < five["confidence"]


def unlaunched(*names: str) -> Export:
    """Steps of 10 ms, each with kernels of some names; no call that asked for them."""
    export = Export()
    for k in range(6):
        begin = ms(10 * k)
        export.nvtx(f"step {k}", begin, begin + ms(9))
        for place, name in enumerate(names):
            export.kernel(f"{name}_{k}", begin + ms(1 + place), begin + ms(2 + place))
    return export


@pytest.mark.parametrize("pattern", [None, r"step \d"], ids=["numbered", "the user's"])
def test_without_launches_a_step_owns_what_began_in_it(tmp_path: Path, pattern: str | None) -> None:
    document = document_of(unlaunched("gemm", "norm"), tmp_path, Settings(step_range=pattern))
    steps = document["steps"]
    assert steps["source"] == ("user" if pattern else "nvtx_step")
    assert steps["confidence"] <= 0.5
    assert "no launch was recorded" in steps["note"]
    assert windows(document)[-1] == (5, ms(43), ms(53))


def test_without_launches_what_the_device_repeats_tells_more(tmp_path: Path) -> None:
    export = unlaunched()
    for k in range(6):
        # The optimizer of each step ends in the range of the next.
        begin = ms(10 * k)
        export.kernel("flash_fwd_kernel", begin + ms(1), begin + ms(5))
        export.kernel("flash_bwd_kernel", begin + ms(5), begin + ms(10))
        export.kernel("multi_tensor_apply_kernel_adam", begin + ms(10), begin + ms(10.5))
    assert document_of(export, tmp_path)["steps"]["source"] == "optimizer_kernels"


def test_zero_length_ops_count_but_set_no_edge(tmp_path: Path) -> None:
    export = training("step {}".format)
    export.memset(1, 1)
    late = 6 * STEP - ms(5)
    export.kernel("gemm", late, late, launch=(late - ms(1), late - us(900)))
    document = document_of(export, tmp_path)
    assert windows(document)[-1][2] == 5 * STEP + ms(90)
    assert document["capture"]["counts"]["kernels"] == 7
    assert document["capture"]["span"]["start_ns"] == us(20)


def test_chosen_time(tmp_path: Path) -> None:
    export = training("step {}".format)
    whole = document_of(export, tmp_path / "a", Settings(window_from_s=0.15, window_to_s=0.45))
    kept = [item["number"] for item in whole["steps"]["items"] if item["kept"]]
    assert kept == [1, 2]
    part = document_of(export, tmp_path / "b", Settings(window_from_s=0.2, window_to_s=0.25))
    assert part["buckets"]["window_ns"] == ms(50)
    assert part["buckets"]["compute_only"] == ms(40)
    assert part["buckets"]["idle"] == ms(10)


@pytest.mark.parametrize("ranks", [1, 2])
def test_a_chosen_time_without_a_whole_step_is_not_called_the_capture(
    tmp_path: Path, ranks: int
) -> None:
    for rank in range(ranks):
        training("step {}".format).write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    made = report(tmp_path / "run", tmp_path / "out", "--from", "0.2", "--to", "0.25")
    assert made.ended.code == 0
    for document in made.lanes.values():
        assert document["steps"]["chosen"]
        assert document["buckets"]["window_ns"] == ms(50)
    findings = {found["id"]: found for found in made.result["findings"]}
    assert findings["steps"]["title"].startswith("No whole step lies in the chosen time")
    # Naming the steps would not help: they are found, but none lies in that time.
    assert "--from and --to around several steps" in findings["steps"]["fix"]
    assert "in the chosen time" in made.ended.out
    assert "in the capture" not in made.ended.out
    for page in made.pages.values():
        words = " ".join(" ".join(Page(page).words).split())
        assert "hosen time" in words
        for wrong in ("hole capture", "o steps were found", "o training steps"):
            assert wrong not in words


def test_chosen_time_outside_the_capture(tmp_path: Path) -> None:
    training("step {}".format).write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", tmp_path / "out", "--from", "100", "--to", "101")
    assert made.ended.code == 2
    assert "0.59" in made.ended.err


def test_times_that_cannot_be(tmp_path: Path) -> None:
    export = training("step {}".format)
    export.strict = False
    export.duration(7 * STEP)
    for start, end in ((None, 5), (5, None), (5, -1), (0, 0)):
        export.row(
            "CUPTI_ACTIVITY_KIND_KERNEL", start=start, end=end, globalPid=(1 << 48) | (100 << 24)
        )
    for start, end in ((ms(50), ms(40)), (ms(1), ms(1) + 3600 * 10**9 + 8 * STEP)):
        export.kernel("gemm", start, end)
    document = document_of(export, tmp_path)
    assert document["capture"]["dropped"]["no_timestamp"] == 4
    assert document["capture"]["dropped"]["impossible_duration"] == 2
    assert document["capture"]["counts"]["kernels"] == 6
    assert len(windows(document)) == 5


def test_negative_and_zero_times_are_times(tmp_path: Path) -> None:
    export = Export()
    export.kernel("gemm", -ms(10), ms(5))
    export.kernel("gemm", 0, ms(8), stream=8)
    document = document_of(export, tmp_path)
    assert windows(document) == [(None, -ms(10), ms(8))]
    assert document["buckets"]["compute_only"] == ms(18)
