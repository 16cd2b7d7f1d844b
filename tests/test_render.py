"""What the pages say, and what they never say: states, sums, missing parts, sizes."""

from __future__ import annotations

import copy
import json
import random
import re
from typing import Any

import pytest

from nsysflow import recording
from nsysflow.model import CATEGORIES
from nsysflow.render import render_index, render_rank, timeline, timeline_marks
from nsysflow.render.capture import MESSAGES
from nsysflow.render.questions import questions
from nsysflow.tasks import for_index
from tests.support import documents
from tests.support.document_parts import listed
from tests.support.hard_documents import huge
from tests.support.html_page import Page
from tests.support.job_documents import job, result
from tests.support.schemas import check


def shuffled(value: Any, draw: random.Random) -> Any:
    if isinstance(value, dict):
        pairs = list(value.items())
        draw.shuffle(pairs)
        return {key: shuffled(item, draw) for key, item in pairs}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


def test_one_document_makes_the_same_bytes_whatever_the_order_of_its_keys() -> None:
    document, made = documents.full(), job(8)
    draw = random.Random(1)  # noqa: S311
    assert (
        render_rank(document)
        == render_rank(shuffled(document, draw))
        == render_rank(copy.deepcopy(document))
    )
    assert render_index(made) == render_index(shuffled(made, draw))


def test_rendering_leaves_the_document_as_it_was() -> None:
    document = documents.full()
    before = json.dumps(document)
    render_rank(document)
    assert json.dumps(document) == before


STATES = ("not_recorded", "not_applicable", "withheld", "error")
SECTIONS = [
    "gaps",
    "syncs",
    "kernels",
    "streams",
    "collectives",
    "memory",
    "nvtx",
    "api",
    "os_calls",
    "launch",
    "data_loading",
    "recompute",
    "gpu_memory",
    "mfu",
    "timeline",
    "overlap",
]


@pytest.mark.parametrize("status", STATES)
@pytest.mark.parametrize("name", SECTIONS)
def test_a_section_that_could_not_be_looked_at_says_so_and_shows_no_zero(
    name: str, status: str
) -> None:
    document = documents.full(layers=2)
    document[name] = {"status": status, "reason": f"because of {name}-reason"}
    check(document, "rank-1")
    text = Page(render_rank(document)).text
    assert text.count(f"because of {name}-reason") >= 2
    assert status.replace("_", " ") in text
    assert "Looked, and found none" not in text


def test_an_empty_table_says_that_somebody_looked() -> None:
    document = documents.full(layers=2)
    document["syncs"] = listed([])
    assert "Looked, and found none." in Page(render_rank(document)).text


def test_a_category_without_an_answer_has_no_share() -> None:
    document = documents.full(layers=2)
    assert document["categories"]["pipeline_bubble"]["ns"] == 0
    html = render_rank(document)
    row = html[html.index("Pipeline bubble</th>") :].split("</tr>")[0]
    assert "could not look" in row
    assert "not told" in row
    assert "0\u202f%" not in row


def test_every_category_is_a_question() -> None:
    text = Page(render_rank(documents.minimal())).text
    asked = text[
        text.index("At most, per capture") : text.index(
            "Timeline", text.index("At most, per capture")
        )
    ]
    assert asked.count("no question of this kind") == len(CATEGORIES)


def test_the_cause_table_sums_to_the_window() -> None:
    document = documents.full()
    html = render_rank(document)
    table = html[html.index('id="t-causes"') :].split("</table>")[0]
    rows = re.findall(r"<tr class=\"(l1|l2|tot)\">(.*?)</tr>", table)
    level = {
        kind: [
            int(re.search(r'class="num" data-v="(\d+)"', row).group(1))
            for k, row in rows
            if k == kind
        ]
        for kind in ("l1", "l2", "tot")
    }  # type: ignore[union-attr]
    assert sum(level["l1"]) == level["tot"][0] == document["buckets"]["window_ns"]
    assert sum(level["l2"]) == document["buckets"]["idle"] + document["buckets"]["exposed_comm"]


def test_masked_texts_are_counted_on_the_page() -> None:
    document = documents.full(layers=2)
    document["masked"] = 17
    assert "17 masked" in Page(render_rank(document)).text
    made = job(2)
    made["masked"] = 5
    assert "Texts masked: 5" in Page(render_index(made)).text


@pytest.mark.parametrize(
    ("left_out", "said"), [(1, "1 more message is in"), (2, "2 more messages are in")]
)
def test_messages_beyond_the_page_are_counted(left_out: int, said: str) -> None:
    document = documents.full(layers=2)
    document["capture"]["warnings"] = [
        {"severity": 1, "text": f"message {n}", "count": 1} for n in range(MESSAGES + left_out)
    ]
    assert said in Page(render_rank(document)).text


def test_the_job_says_what_of_measurement_is_communication() -> None:
    made = job(2)
    for rank in made["ranks"]:
        rank["causes"]["exposed_comm"] |= {"unsplit_gated": 0, "unsplit_host_late": 0}
    assert "is exposed communication: waiting" not in Page(render_index(made)).text
    whole = sum(rank["buckets"]["window_ns"] for rank in made["ranks"])
    made["ranks"][1]["causes"]["exposed_comm"]["unsplit_gated"] = whole // 8
    text = Page(render_index(made)).text
    assert "12.5\u202f% is exposed communication: waiting or transfer." in text


@pytest.mark.parametrize(
    ("cause", "said"),
    [
        ("data_loading", "the largest loss is data loading, 40.0\u202f%."),
        ("idle_unattributed", "the largest loss is idle time without a known cause, 40.0\u202f%."),
    ],
)
def test_the_verdict_of_the_walk_is_a_sentence(cause: str, said: str) -> None:
    made = job(2)
    label = made["ranks"][0]["label"]
    items = [
        {"label": label, "bucket": "compute_only", "cause": None, "ns": 60},
        {"label": label, "bucket": "idle", "cause": cause, "ns": 40},
    ]
    made["stragglers"]["items"] = []
    made["walk"] = {"status": "ok", "steps": [1, 2, 3], "step_ns": 100, "items": items}
    made["stragglers"]["items"] = []
    assert said in Page(render_index(made)).text


@pytest.mark.parametrize(
    ("gain", "said"),
    [(30, "makes the others wait, at most 30.0\u202f%"), (5, "the largest loss is data loading")],
)
def test_the_verdict_of_the_walk_names_the_larger_of_a_loss_and_a_late_rank(
    gain: int, said: str
) -> None:
    """A slow GPU's time is computing on the walk, and no loss there."""
    made = job(2)
    label = made["ranks"][0]["label"]
    items = [
        {"label": label, "bucket": "compute_only", "cause": None, "ns": 90},
        {"label": label, "bucket": "idle", "cause": "data_loading", "ns": 10},
    ]
    made["walk"] = {"status": "ok", "steps": [1, 2, 3], "step_ns": 100, "items": items}
    late = made["stragglers"]["items"][0] | {"verdict": "straggler"}
    made["stragglers"]["items"] = [late | {"gain_bound_ns_per_step": gain}]
    assert said in Page(render_index(made)).text


@pytest.mark.parametrize(
    ("bubble", "late", "said"),
    [
        (0.151, 0, "pipeline stages wait for each other, at most 15.1\u202f% of the step."),
        (0.151, 20, "makes the others wait, at most 20.0\u202f% of the step."),
        (0.1, 11, "the largest loss is transfer, 12.0\u202f%."),
    ],
)
def test_no_finding_is_larger_than_what_the_verdict_calls_the_largest(
    bubble: float, late: int, said: str
) -> None:
    made = job(2)
    label = made["ranks"][0]["label"]
    items = [
        {"label": label, "bucket": "compute_only", "cause": None, "ns": 88},
        {"label": label, "bucket": "exposed_comm", "cause": "transfer_gated", "ns": 12},
    ]
    made["walk"] = {"status": "ok", "steps": [1, 2, 3], "step_ns": 100, "items": items}
    row = {"label": label, "rank": 0, "verdict": "straggler", "gain_bound_ns_per_step": late}
    made["stragglers"]["items"] = [made["stragglers"]["items"][0] | row]
    card = made["findings"][0] | {"id": "pipeline_schedule", "bucket": None, "bound_frac": bubble}
    made["findings"] = [card | {"status": "opportunity"}]
    assert said in Page(render_index(made)).text


def test_the_page_advises_the_line_of_doctor_and_what_the_capture_lacks() -> None:
    document = documents.full()
    document["capture"]["nsys_version"] = "2025.3.2.474-253236389321v0"
    document["capture"]["tables"] |= {"SCHED_EVENTS": "present", "CUDA_CALLCHAINS": "present"}
    usual = recording.line("2025.3.2")
    assert usual.startswith("nsys profile --trace=cuda,nvtx,osrt --pytorch=")  # nccl is too new
    assert usual.endswith(" python train.py")
    assert usual in " ".join(" ".join(Page(render_rank(document)).words).split())
    del document["capture"]["tables"]["SCHED_EVENTS"]
    said = " ".join(" ".join(Page(render_rank(document)).words).split())
    assert usual.replace("--cpuctxsw=none", "--cpuctxsw=process-tree") in said
    assert "with what this capture lacks" in said
    assert "--pytorch" not in recording.line("2023.4.1")
    assert "--trace=cuda,nvtx,osrt,nccl " in recording.line(None)


def test_steps_without_numbers_are_not_given_any() -> None:
    made, lanes = job(2), [documents.full(rank, layers=2) for rank in (0, 1)]
    numbers = f"{made['walk']['steps'][0]}–{made['walk']['steps'][-1]}"
    assert (
        f"steps {numbers}. Rows"
        in Page(render_index(made, [for_index(lane) for lane in lanes])).text
    )
    for lane in lanes:
        for item in lane["steps"]["items"]:
            item["number"] = None
    text = Page(render_index(made, [for_index(lane) for lane in lanes])).text
    assert "the steps that all ranks kept. Rows" in text


def test_the_ranks_that_lose_most_are_the_same_everywhere() -> None:
    made = job(3)
    made["findings"] = []
    made["walk"] = {"status": "not_applicable", "reason": "one lane", "items": [], "steps": []}
    # All of this one's time is graphs, of which nothing is known: that is no loss.
    held = made["ranks"][0]["buckets"]
    held |= dict.fromkeys(held, 0) | {"graph_opaque": 100, "window_ns": 100}
    lost = (
        render_index(made).partition('aria-label="Ranks that lose most"')[2].partition("</ol>")[0]
    )
    names = re.findall(r"<a [^>]*>(rank [0-9])", lost.replace("\xa0", " "))
    assert len(names) == len(made["ranks"])
    assert names[-1] == "rank 0"


def test_one_missing_rank_is_no_more_than_one() -> None:
    made = job(2)
    made["run"] |= {"missing_ranks": [9], "ranks_expected": 10}
    assert "1 of 10 ranks is not in this report: rank 9." in Page(render_index(made)).text
    made["run"]["ranks_expected"] = None
    assert "1 rank is not in this report: rank 9." in Page(render_index(made)).text


def test_what_is_missing_from_a_job_is_named() -> None:
    made = job(8)
    made["run"]["inputs"].append(
        {
            "file": "cpu.sqlite",
            "status": "no_gpu_work",
            "stage": "analyse",
            "message": "no device rows",
            "hint": None,
        }
    )
    made["run"]["conflicts"] = [
        {"rank": 3, "labels": ["0003-a", "0003-b"], "sources": ["env", "filename"]}
    ]
    text = Page(render_index(made)).text
    for part in (
        "2 of 10 ranks are not in this report: ranks 8–9",
        "1 input could not be used: rank8.sqlite",
        "1 input holds no GPU work: cpu.sqlite",
        "not an SQLite file: it begins with zeros; export it again",
        "Rank 3 is claimed by 0003-a, 0003-b (environment, file name)",
    ):
        assert part in text, part


def test_several_jobs_get_no_common_verdict() -> None:
    made = job(8)
    made["run"]["several_jobs"] = "world sizes 8 and 2"
    text = Page(render_index(made)).text
    assert "This folder holds several jobs; each rank page stands on its own." in text
    assert "world sizes 8 and 2" in text


def test_the_rank_that_differs_stands_out_in_a_large_job() -> None:
    html = render_index(job(64))
    table = html[html.index('id="t-out"') :].split("</table>")[0]
    assert re.findall(r'href="(rank-\d+\.html)"', table) == ["rank-0011.html"]
    folded = html[html.index('id="t-all"') :].split("</table>")[0]
    assert folded.count("<tr id=") == 64


def test_a_job_of_one_rank_and_of_none() -> None:
    assert "28.6\u202f% of each step is communication" in Page(render_index(job(1))).text
    assert "No input holds GPU work" in Page(render_index(result([]))).text


def test_sizes() -> None:
    assert len(render_rank(documents.full()).encode()) < 500_000
    largest = render_rank(huge())
    assert len(largest.encode()) < 2_000_000
    assert "to keep the page small" in largest
    assert len(render_index(job(1_024)).encode()) < 1_400_000
    assert len(render_index(job(8)).encode()) < 500_000


def covered(step: dict[str, Any]) -> dict[tuple[str, int], float]:
    out: dict[tuple[str, int], float] = {}
    for row in step["rows"]:
        for _start, dur, kind, _name, _n, share in row["marks"]:
            out[row["label"], kind] = out.get((row["label"], kind), 0.0) + dur * share
    return out


def test_thinning_keeps_time_and_counts() -> None:
    document = documents.full(layers=2_000)
    step = document["timeline"]["steps"][0]
    item = document["steps"]["items"][step["index"]]
    dur = item["end_ns"] - item["start_ns"]
    thin = timeline_marks.thin(step, dur, 3_000)
    assert timeline_marks.count_marks(thin) <= 3_000 < timeline_marks.count_marks(step)
    ops = [sum(mark[4] for row in s["rows"] for mark in row["marks"]) for s in (step, thin)]
    assert ops[0] == ops[1]
    assert thin["merged"] == timeline_marks.count_marks(step) - timeline_marks.count_marks(thin)
    before, after = covered(step), covered(thin)
    assert before.keys() == after.keys()
    for key, time in before.items():
        assert after[key] == pytest.approx(time, rel=0.01, abs=dur / 2_200), key


def test_the_timeline_links_a_gap_to_its_place() -> None:
    document = documents.full()
    places = timeline.Places(document)
    first = document["steps"]["items"][document["timeline"]["steps"][0]["index"]]
    assert places.at(first["start_ns"] + 5, 7) == "0,5,7"
    assert places.at(first["end_ns"] + 10**12, 7) is None


def test_one_blind_question_does_not_hide_what_the_others_found() -> None:
    states = ("ok", "unavailable", "ok", "unavailable")
    found = [
        {
            "id": "gil_wait",
            "category": "host_overhead",
            "status": state,
            "title": f"{state} {k}",
            "why": "It costs.",
            "capture_next": "--trace=python-gil",
        }
        for k, state in enumerate(states)
    ]
    rows = {row.title: row for row in questions({"findings": found}, ())}
    (told,) = (row for row in rows.values() if row.chip == "could not look")
    assert told.text == (
        "waiting for the GIL: unavailable 1. To look, capture with --trace=python-gil. "
        "2 other questions found nothing; 1 more could not be looked at."
    )
