"""Rank documents that try a page: every text an attack; and as large as traces make them."""

from __future__ import annotations

import copy
import random
from typing import Any

from nsysflow.model import CATEGORIES
from tests.support.document_device import UNARY
from tests.support.document_parts import Document, listed
from tests.support.documents import full
from tests.support.job_documents import job

HOSTILE = {
    "script": '</script><script>document.title="PWNED"</script>',
    "comment": "<!--<script>",
    "style": "</style><style>body{display:none}",
    "img": "<img src=x onerror=alert(1)>",
    "attribute": "\"' onmouseover=\"document.title='PWNED'",
    "svg": "</title></svg><svg onload=document.title='PWNED'>",
    "json": '{"a":"\\u003c"}]]></script>',
    "css": "red;}*{background:url(http://evil.example/x)}",
    "href": "javascript:document.title='PWNED'",
    "id": 'x" onclick="document.title=1" y="',
    "template": "{{ 7*7 }}{% for x in y %}${7*7}",
    "separator": "line\u2028paragraph\u2029end",
    "direction": "rtl\u200f\u202egnp.exe",
    "control": "nul\x00bell\x07escape\x1b[31m del\x7f c1\x85",
    "surrogate": "lone\ud800surrogate",
    "emoji": "\U0001f468\u200d\U0001f680 GPU",
    "formula": '=HYPERLINK("http://evil.example","x")',
    "kernel": UNARY,
    "long": "k<" + "very_long_template_argument, " * 140 + ">",
}


def hostile() -> Document:
    """Return a full document in which every text from a trace is an attack."""
    document = full()
    bad = list(HOSTILE.values())
    document["lane"] |= {
        "file": "run/<b>rank0</b>.sqlite" + HOSTILE["script"],
        "host": HOSTILE["img"],
        "label": HOSTILE["id"],
        "rank": None,
    }
    document["lane"]["gpu"]["name"] = HOSTILE["svg"]
    document["capture"]["warnings"] = [
        {"severity": "warning", "text": text, "count": 1} for text in bad
    ]
    document["capture"]["nsys_version"] = HOSTILE["script"]
    document["capture"]["tables"][HOSTILE["script"]] = "present"
    row = document["kernels"]["top"][0]
    document["kernels"]["top"] = [
        {**row, "name": text, "short_name": text, "work_ns": row["work_ns"] + at}
        for at, text in enumerate(bad)
    ]
    document["kernels"]["unclassified"] = [
        {"name": text, "count": 1, "work_ns": 10**9} for text in bad
    ]
    path = document["nvtx"]["items"][0]
    document["nvtx"] = listed([{**path, "path": text, "domain": text} for text in bad])
    call = document["api"]["items"][0]
    document["api"] = listed([{**call, "name": text} for text in bad])
    sync = document["syncs"]["items"][0]
    document["syncs"] = listed(
        [{**sync, "api": text, "nvtx_path": text, "callsite": text} for text in bad]
    )
    gap = document["gaps"]["top"][0]
    document["gaps"]["top"] = [{**gap, "next_op": text, "evidence": text} for text in bad]
    comm = document["collectives"]["items"][0]
    document["collectives"] = listed([{**comm, "communicator": text} for text in bad])
    document["timeline"]["names"] = bad[: len(document["timeline"]["names"])]
    for step in document["timeline"]["steps"]:
        for lane, text in zip(step["rows"], bad, strict=False):
            lane["label"] = text
    document["findings"] = [
        {
            **finding,
            "id": text,
            "title": text,
            "why": text,
            "fix": text,
            "verify": text,
            "evidence": [text, {"text": text, "table": text}],
        }
        for finding, text in zip(document["findings"] * 3, bad, strict=False)
    ]
    document["steps"] |= {
        "pattern": HOSTILE["script"],
        "dropped": [{**row, "reason": HOSTILE["img"]} for row in document["steps"]["dropped"]],
    }
    document["mfu"] |= {
        "convention": HOSTILE["script"],
        "dtype": HOSTILE["img"],
        "peak_source": HOSTILE["svg"],
    }
    document["mfu"]["checks"] = [
        {"id": text, "verdict": "suspicious", "text": text} for text in bad
    ]
    document["os_calls"]["reason"] = HOSTILE["script"]
    document["recompute"]["source"] = HOSTILE["img"]
    return document


def huge(steps: int = 10_000, layers: int = 4_000) -> Document:
    """Return what 2 M kernels, 200 k texts, 20 k names and 10,000 steps leave in a document."""
    document = full(steps=steps, layers=layers)
    draw = random.Random(7)  # noqa: S311
    row = document["kernels"]["top"][0]
    document["kernels"] |= {
        "total": 20_000,
        "top": [
            {
                **row,
                "name": f"void kernel_{at}<" + "".join(draw.choices("abcdefgh, <>", k=3_500)) + ">",
                "work_ns": 10**11 - at,
            }
            for at in range(200)
        ],
    }
    path = document["nvtx"]["items"][0]
    document["nvtx"] = listed(
        [
            {**path, "path": f"{at} " + "".join(draw.choices("abcdefgh/ ", k=900))}
            for at in range(200)
        ],
        200_000,
    )
    call, gap, sync = (
        document["api"]["items"][0],
        document["gaps"]["top"][0],
        document["syncs"]["items"][0],
    )
    document["api"] = listed([{**call, "name": f"call_{at}_" + "x" * 300} for at in range(200)])
    document["gaps"]["top"] = [{**gap, "next_op": row["name"] * 20} for _ in range(100)]
    document["syncs"] = listed([{**sync, "nvtx_path": "p / " * 200} for _ in range(200)])
    step = document["timeline"]["steps"][0]
    document["timeline"]["steps"] = [
        copy.deepcopy({**step, "index": step["index"] + at}) for at in range(5)
    ]
    return document


def wordy(cards: int = 60) -> Document:
    """Return a document with more and longer texts than any analysis writes, and long lists."""
    document = full(steps=200)
    base = document["findings"][0]
    made = "Do this and then that. " * 20
    document["findings"] = [
        {
            **base,
            "id": f"claim-{at}",
            "title": f"A claim that is rather long, number {at}, on what this rank does",
            "category": CATEGORIES[at % len(CATEGORIES)],
            "status": "opportunity" if at < cards else "unavailable",
            "bound_ns_per_step": 10**8 - at * 10**6 if at < cards else None,
            "evidence": [f"evidence that goes on for a line and a half of the page, {k} " * 2
                         for k in range(6)],
            **dict.fromkeys(("why", "fix", "trade_off", "verify", "experiment"), made),
            "capture_next": "--trace=cuda,nvtx,osrt " * 6,
        }
        for at in range(cards + 20)
    ]  # fmt: skip
    lost = "events may have been lost in this capture " * 6
    document["capture"]["warnings"] = [
        {"severity": 2, "text": f"{at}: {lost}", "count": 3} for at in range(60)
    ]
    document["steps"]["dropped"] = [
        {"index": at, "number": at, "reason": "jit_or_load"} for at in range(0, 80, 2)
    ]
    name = "void kernel_with_a_long_name<" + "int, " * 30 + ">"
    document["kernels"]["unclassified"] = [
        {"name": name, "count": 3, "work_ns": 10**9} for _ in range(30)
    ]
    check = document["mfu"]["checks"][0]
    document["mfu"]["checks"] = [{**check, "text": "a check with a long text " * 6}] * 20
    for section, count in (("collectives", 60), ("streams", 40), ("memory", 18), ("syncs", 50)):
        row = document[section]["items"][0]
        document[section] = listed([dict(row) for _ in range(count)], 600)
    for section, key in (("nvtx", "path"), ("api", "name")):
        row = document[section]["items"][0]
        document[section] = listed([{**row, key: f"forward / layer {at}"} for at in range(200)])
    return document


def hostile_job() -> dict[str, Any]:
    made = job(8)
    bad = list(HOSTILE.values())
    made["run"]["name"] = HOSTILE["script"]
    made["run"]["inputs"] = [
        {"file": text, "status": "failed", "stage": "open", "message": text, "hint": text}
        for text in bad
    ]
    made["run"]["several_jobs"] = HOSTILE["img"]
    made["run"]["conflicts"] = [{"rank": 0, "labels": bad[:2], "sources": bad[2:4]}]
    for rank, text in zip(made["ranks"], bad, strict=False):
        rank.update(label=text, host=text, page=text, gpu_name=text, top_finding=text, rank=None)
    made["alignment"].update(
        method=HOSTILE["svg"], offsets=[{"file": text, "offset_ns": None} for text in bad]
    )
    made["walk"]["items"] = [
        {**row, "label": text} for row, text in zip(made["walk"]["items"], bad, strict=False)
    ]
    made["walk"]["step_ns"] = sum(row["ns"] for row in made["walk"]["items"])
    for group in made["collectives"]["groups"]:
        group.update(communicator=HOSTILE["script"], kind=HOSTILE["img"])
    made["stragglers"]["items"][0].update(
        label=HOSTILE["id"], rank=None, cause=HOSTILE["script"], evidence=HOSTILE["img"]
    )
    made["findings"] = [
        {**row, "title": text, "id": text} for row, text in zip(made["findings"], bad, strict=False)
    ]
    return made
