"""The pages as text: schema, escaping, policy, numbers, verdicts, sizes."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import random
import re
from html.parser import HTMLParser
from typing import Any

import jsonschema
import pytest

from nsysflow import resources
from nsysflow.model import BUCKETS, CATEGORIES
from nsysflow.render import (
    findings,
    render_index,
    render_rank,
    timeline,
    timeline_marks,
    units,
    verdict,
)
from tests.support import documents
from tests.support.documents import HOSTILE

ALLOWED_TAGS = set(
    "html head meta title link style body svg defs linearGradient stop a header div b span button nav ul li main section p "
    "h1 h2 h3 h4 dl dt dd small rect text ol details summary code table thead tbody tr th td select option label input kbd "
    "path g line bdi footer script".lower().split()
)
VOID = {"meta", "link", "input"}


class Page(HTMLParser):
    """Tags, attributes and text of a page as a parser of HTML sees them."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.raw: dict[str, list[str]] = {"script": [], "style": [], "title": []}
        self.words: list[str] = []
        self._inside = ""
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice on {tag}: {names}"
        self.tags.append((tag, dict(attrs)))
        self._inside = tag
        if tag in self.raw:
            self.raw[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        del tag
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in self.raw:
            self.raw[self._inside][-1] += data
        else:
            self.words.append(data)

    @property
    def text(self) -> str:
        return "".join(self.words)

    def count(self, tag: str) -> int:
        return sum(name == tag for name, _ in self.tags)


def schema(name: str) -> dict[str, Any]:
    return json.loads(
        resources.data("reports", "schema", f"{name}.json").read_text(encoding="utf-8")
    )


RANKS = {
    "full": documents.full,
    "minimal": documents.minimal,
    "hostile": documents.hostile,
    "huge": documents.huge,
}
JOBS = (1, 8, 64, 1_024)


@pytest.mark.parametrize("name", RANKS)
def test_sample_ranks_are_valid(name: str) -> None:
    jsonschema.validate(RANKS[name](), schema("rank-1"), jsonschema.Draft202012Validator)


@pytest.mark.parametrize("count", JOBS)
def test_sample_jobs_are_valid(count: int) -> None:
    jsonschema.validate(documents.job(count), schema("result-1"), jsonschema.Draft202012Validator)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d.update(extra=1),
        lambda d: d["lane"].update(user="jdoe"),
        lambda d: d["buckets"].pop("idle"),
        lambda d: d["buckets"].update(idle=-1),
        lambda d: d["gaps"].pop("top"),
        lambda d: d["os_calls"].pop("reason"),
        lambda d: d["timeline"]["steps"][0]["rows"][0]["marks"][0].append(1),
        lambda d: d["findings"][0].update(bound_kind="about"),
    ],
)
def test_the_schema_refuses_what_the_contract_does_not_name(spoil: Any) -> None:
    document = documents.full()
    spoil(document)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(document, schema("rank-1"), jsonschema.Draft202012Validator)


class Watched(dict[str, Any]):
    """A document that notes which keys are asked for, as paths; positions in lists are ``*``."""

    def __init__(
        self, value: dict[str, Any], path: tuple[str, ...], asked: set[tuple[str, ...]]
    ) -> None:
        super().__init__({key: watch(item, (*path, key), asked) for key, item in value.items()})
        self.path, self.asked = path, asked

    def __getitem__(self, key: str) -> Any:
        self.asked.add((*self.path, key))
        return super().__getitem__(key)

    def get(self, key: Any, default: Any = None) -> Any:
        if isinstance(key, str):
            self.asked.add((*self.path, key))
        return super().get(key, default)

    def __contains__(self, key: object) -> bool:
        self.asked.add((*self.path, str(key)))
        return super().__contains__(key)


def watch(value: Any, path: tuple[str, ...], asked: set[tuple[str, ...]]) -> Any:
    if isinstance(value, dict):
        return Watched(value, path, asked)
    if isinstance(value, list):
        return [watch(item, (*path, "*"), asked) for item in value]
    return value


def names(node: Any, path: tuple[str, ...], root: dict[str, Any]) -> bool:
    """Whether a schema names a path."""
    if not isinstance(node, dict):
        return node is True and not path
    if "$ref" in node:
        return names(root["$defs"][node["$ref"].rsplit("/", 1)[1]], path, root)
    if not path:
        return True
    branches = [node[key] for key in ("then",) if key in node] + node.get("oneOf", [])
    if any(names(branch, path, root) for branch in branches):
        return True
    head, rest = path[0], path[1:]
    if head == "*":
        return names(node.get("items"), rest, root)
    if head in node.get("properties", {}):
        return names(node["properties"][head], rest, root)
    return isinstance(node.get("additionalProperties"), dict) and names(
        node["additionalProperties"], rest, root
    )


@pytest.mark.parametrize("name", ["full", "minimal", "hostile"])
def test_a_rank_page_reads_nothing_but_the_schema(name: str) -> None:
    asked: set[tuple[str, ...]] = set()
    render_rank(watch(RANKS[name](), (), asked))
    root = schema("rank-1")
    assert len(asked) > 100
    assert [path for path in sorted(asked) if not names(root, path, root)] == []


@pytest.mark.parametrize("count", [1, 8, 64])
def test_a_job_page_reads_nothing_but_the_schema(count: int) -> None:
    asked: set[tuple[str, ...]] = set()
    render_index(watch(documents.job(count), (), asked), [documents.full()])
    root = schema("result-1")
    assert len(asked) > 50
    assert [path for path in sorted(asked) if not names(root, path, root)] == []


def shuffled(value: Any, draw: random.Random) -> Any:
    if isinstance(value, dict):
        pairs = list(value.items())
        draw.shuffle(pairs)
        return {key: shuffled(item, draw) for key, item in pairs}
    return [shuffled(item, draw) for item in value] if isinstance(value, list) else value


def test_one_document_makes_the_same_bytes_whatever_the_order_of_its_keys() -> None:
    document, job = documents.full(), documents.job(8)
    draw = random.Random(1)
    assert (
        render_rank(document)
        == render_rank(shuffled(document, draw))
        == render_rank(copy.deepcopy(document))
    )
    assert render_index(job) == render_index(shuffled(job, draw))


def test_rendering_leaves_the_document_as_it_was() -> None:
    document = documents.full()
    before = json.dumps(document)
    render_rank(document)
    assert json.dumps(document) == before


def hostile_job() -> dict[str, Any]:
    job = documents.job(8)
    bad = list(HOSTILE.values())
    job["run"]["name"] = HOSTILE["script"]
    job["run"]["inputs"] = [
        {"file": text, "status": "failed", "stage": "open", "message": text, "hint": text}
        for text in bad
    ]
    job["run"]["several_jobs"] = HOSTILE["img"]
    job["run"]["conflicts"] = [{"rank": 0, "labels": bad[:2], "sources": bad[2:4]}]
    for rank, text in zip(job["ranks"], bad, strict=False):
        rank.update(label=text, host=text, page=text, gpu_name=text, top_finding=text, rank=None)
    job["alignment"].update(
        method=HOSTILE["svg"], offsets=[{"file": text, "offset_ns": None} for text in bad]
    )
    job["walk"]["items"] = [
        {**row, "label": text} for row, text in zip(job["walk"]["items"], bad, strict=False)
    ]
    job["walk"]["step_ns"] = sum(row["ns"] for row in job["walk"]["items"])
    for group in job["collectives"]["groups"]:
        group.update(communicator=HOSTILE["script"], kind=HOSTILE["img"])
    job["stragglers"]["items"][0].update(
        label=HOSTILE["id"], rank=None, cause=HOSTILE["script"], evidence=HOSTILE["img"]
    )
    job["findings"] = [
        {**row, "title": text, "id": text} for row, text in zip(job["findings"], bad, strict=False)
    ]
    return job


PAGES = {
    "rank": (lambda: render_rank(documents.full()), 2),
    "hostile rank": (lambda: render_rank(documents.hostile()), 2),
    "minimal": (lambda: render_rank(documents.minimal()), 1),
    "job": (lambda: render_index(documents.job(8)), 1),
    "hostile job": (lambda: render_index(hostile_job()), 1),
    "large job": (lambda: render_index(documents.job(64)), 1),
}


@pytest.fixture(params=PAGES, scope="module")
def parsed(request: pytest.FixtureRequest) -> tuple[Page, str, int]:
    make, scripts = PAGES[request.param]
    html = make()
    return Page(html), html, scripts


def test_no_element_comes_from_data(parsed: tuple[Page, str, int]) -> None:
    page, _, scripts = parsed
    assert page.count("script") == scripts
    assert page.count("style") == page.count("html") == page.count("h1") == 1
    assert {tag for tag, _ in page.tags} <= ALLOWED_TAGS


def test_no_attribute_acts(parsed: tuple[Page, str, int]) -> None:
    page, _, _ = parsed
    for tag, attributes in page.tags:
        for name, value in attributes.items():
            assert not name.startswith("on"), (tag, name)
            assert name not in ("style", "src", "action", "formaction", "srcdoc", "background"), (
                tag,
                name,
            )
            if name in ("href", "xlink:href"):
                assert re.fullmatch(r"#[\w-]+|data:,|[\w.-]+\.html", value or ""), value
            if name in ("id", "class", "for", "data-k"):
                assert re.fullmatch(r"[\w -]+", value or ""), (tag, name, value)


def test_ids_are_unique_and_links_lead_somewhere(parsed: tuple[Page, str, int]) -> None:
    page, _, _ = parsed
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert sorted(ids) == sorted(set(ids))
    targets = {
        attributes["href"]
        for _, attributes in page.tags
        if (attributes.get("href") or "").startswith("#")
    }
    # Tables whose section holds nothing are not drawn; nothing may point to them.
    assert {target[1:] for target in targets if target} <= set(ids)


def test_the_policy_allows_exactly_these_blocks(parsed: tuple[Page, str, int]) -> None:
    page, html, _ = parsed
    policy = next(
        a["content"] for tag, a in page.tags if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy is not None
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["default-src"] == parts["base-uri"] == parts["form-action"] == "'none'"
    style = re.search(r"<style>(.*?)</style>", html, re.DOTALL)
    script = re.search(r"<script>(.*?)</script>", html, re.DOTALL)
    assert style
    assert script
    for block, directive in ((style, "style-src"), (script, "script-src")):
        digest = base64.b64encode(hashlib.sha256(block.group(1).encode()).digest()).decode()
        assert parts[directive] == f"'sha256-{digest}'"


def test_nothing_is_fetched(parsed: tuple[Page, str, int]) -> None:
    page, _, _ = parsed
    style = page.raw["style"][0]
    assert "@import" not in style
    assert all(link.startswith("#") for link in re.findall(r"url\(([^)]*)\)", style))
    code = page.raw["script"][-1]
    for word in (
        "innerHTML",
        "eval(",
        "Function(",
        "document.write",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ):
        assert word not in code


def test_tags_are_balanced(parsed: tuple[Page, str, int]) -> None:
    _, html, _ = parsed
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", "", html, flags=re.DOTALL)
    stack: list[str] = []
    for close, tag, tail in re.findall(
        r"<(/?)([a-zA-Z][a-zA-Z0-9]*)((?:[^>\"]|\"[^\"]*\")*)>", body
    ):
        if tag in VOID or tail.endswith("/"):
            continue
        if close:
            assert stack.pop() == tag
        else:
            stack.append(tag)
    assert stack == []


CARRIED = [name for name in HOSTILE if name not in ("control", "surrogate", "direction", "long")]


@pytest.mark.parametrize("name", CARRIED)
def test_the_exact_name_is_shown(name: str) -> None:
    page = Page(render_rank(documents.hostile()))
    assert HOSTILE[name] in page.text


def test_what_no_page_can_carry_is_made_visible() -> None:
    page = Page(render_rank(documents.hostile()))
    assert "nul\u2400bell\u2407escape\u241b[31m del\u2421 c1\\u0085" in page.text
    assert "lone\\ud800surrogate" in page.text
    assert "rtl\u200f\\u202egnp.exe" in page.text
    html = render_rank(documents.hostile())
    assert "\x00" not in html
    html.encode("utf-8")


def test_the_json_block_keeps_names_and_cannot_end() -> None:
    page = Page(render_rank(documents.hostile()))
    data = json.loads(page.raw["script"][0])
    assert HOSTILE["script"] in data["names"]
    assert "<" not in page.raw["script"][0]
    assert "&" not in page.raw["script"][0]


def test_a_long_name_is_cut_in_the_middle_and_says_so() -> None:
    text = units.shorten("a" * 300 + "b" * 300, 512)
    assert len(text) == 512
    assert text.startswith("a" * 300)
    assert text.endswith("b" * 170)
    assert "…" in text


def test_a_page_name_that_is_no_file_name_is_not_linked() -> None:
    job = documents.job(8)
    for rank, page in zip(
        job["ranks"],
        ("javascript:alert(1)", "../x.html", "a b.html", "//evil.example/x.html"),
        strict=False,
    ):
        rank["page"] = page
    hrefs = {a.get("href") for tag, a in Page(render_index(job)).tags if tag == "a"}
    assert not {
        href for href in hrefs if href and ("evil" in href or "javascript" in href or ".." in href)
    }


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
    assert units.numbers([3, 1, 2, 9, 7, 8, 20]) == "1–3, 7–9, 20"
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
            "29.0 % of each step is communication that nothing hides; for another 15.0 % the GPU idles.",
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
            "20.0 % of each step is memory copies that nothing hides; another 10.0 % is CUDA graphs that were not split into kernels.",
        ),
    ],
)
def test_the_verdict_names_the_two_largest_losses(held: dict[str, int], text: str) -> None:
    assert verdict.losses(held, "each step").replace(NN, " ") == text


def test_the_verdict_says_first_what_makes_it_doubtful() -> None:
    page = Page(render_rank(documents.minimal())).text.replace(NN, " ")
    assert (
        "No training steps found; figures cover the whole capture. As far as this capture shows, the GPU idles for 75.0 % of the capture"
        in page
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
    jsonschema.validate(document, schema("rank-1"), jsonschema.Draft202012Validator)
    text = Page(render_rank(document)).text
    assert text.count(f"because of {name}-reason") >= 2
    assert status.replace("_", " ") in text
    assert "Looked, and found none" not in text


def test_an_empty_table_says_that_somebody_looked() -> None:
    document = documents.full(layers=2)
    document["syncs"] = documents.listed([])
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
    assert asked.count("no analysis answers this yet") == len(CATEGORIES)


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
    job = documents.job(2)
    job["masked"] = 5
    assert "Texts masked: 5" in Page(render_index(job)).text


def test_what_is_missing_from_a_job_is_named() -> None:
    job = documents.job(8)
    job["run"]["inputs"].append(
        {
            "file": "cpu.sqlite",
            "status": "no_gpu_work",
            "stage": "analyse",
            "message": "no device rows",
            "hint": None,
        }
    )
    job["run"]["conflicts"] = [
        {"rank": 3, "labels": ["0003-a", "0003-b"], "sources": ["env", "filename"]}
    ]
    text = Page(render_index(job)).text
    for part in (
        "2 of 10 ranks are not in this report: ranks 8–9",
        "1 input could not be used: rank8.sqlite",
        "1 input holds no GPU work: cpu.sqlite",
        "not an SQLite file: it begins with zeros export it again",
        "Rank 3 is claimed by 0003-a, 0003-b (env, filename)",
    ):
        assert part in text, part


def test_several_jobs_get_no_common_verdict() -> None:
    job = documents.job(8)
    job["run"]["several_jobs"] = "world sizes 8 and 2"
    text = Page(render_index(job)).text
    assert "This folder holds several jobs; each rank page stands on its own." in text
    assert "world sizes 8 and 2" in text


def test_the_rank_that_differs_stands_out_in_a_large_job() -> None:
    html = render_index(documents.job(64))
    table = html[html.index('id="t-out"') :].split("</table>")[0]
    assert re.findall(r'href="(rank-\d+\.html)"', table) == ["rank-0011.html"]
    folded = html[html.index('id="t-all"') :].split("</table>")[0]
    assert folded.count("<tr id=") == 64


def test_a_job_of_one_rank_and_of_none() -> None:
    assert "28.6\u202f% of each step is communication" in Page(render_index(documents.job(1))).text
    assert "No input holds GPU work" in Page(render_index(documents.result([]))).text


def test_sizes() -> None:
    assert len(render_rank(documents.full()).encode()) < 500_000
    largest = render_rank(documents.huge())
    assert len(largest.encode()) < 2_000_000
    assert "to keep the page small" in largest
    assert len(render_index(documents.job(1_024)).encode()) < 1_400_000
    assert len(render_index(documents.job(8)).encode()) < 500_000


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
