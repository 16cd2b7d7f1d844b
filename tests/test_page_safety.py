"""Hostile names stay text: elements, attributes, links, policy, embedded data."""

from __future__ import annotations

import base64
import hashlib
import json
import re

import pytest

from nsysflow.render import render_index, render_rank, units
from tests.support import documents
from tests.support.hard_documents import HOSTILE, hostile, hostile_job
from tests.support.html_page import Page
from tests.support.job_documents import job

ALLOWED_TAGS = set(
    """
    html head meta title link style body svg defs lineargradient stop a header div b span button
    nav ul li main section p h1 h2 h3 h4 dl dt dd small rect text ol details summary code table
    thead tbody tr th td select option label input kbd path g line bdi footer script
    """.split()  # noqa: SIM905
)
VOID = {"meta", "link", "input"}

PAGES = {
    "rank": (lambda: render_rank(documents.full()), 2),
    "hostile rank": (lambda: render_rank(hostile()), 2),
    "minimal": (lambda: render_rank(documents.minimal()), 1),
    "job": (lambda: render_index(job(8)), 1),
    "hostile job": (lambda: render_index(hostile_job()), 1),
    "large job": (lambda: render_index(job(64)), 1),
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
    page = Page(render_rank(hostile()))
    assert HOSTILE[name] in page.text


def test_what_no_page_can_carry_is_made_visible() -> None:
    page = Page(render_rank(hostile()))
    assert "nul\u2400bell\u2407escape\u241b[31m del\u2421 c1\\u0085" in page.text
    assert "lone\\ud800surrogate" in page.text
    assert "rtl\u200f\\u202egnp.exe" in page.text
    html = render_rank(hostile())
    assert "\x00" not in html
    html.encode("utf-8")


def test_the_json_block_keeps_names_and_cannot_end() -> None:
    page = Page(render_rank(hostile()))
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
    made = job(8)
    for rank, page in zip(
        made["ranks"],
        ("javascript:alert(1)", "../x.html", "a b.html", "//evil.example/x.html"),
        strict=False,
    ):
        rank["page"] = page
    hrefs = {a.get("href") for tag, a in Page(render_index(made)).tags if tag == "a"}
    assert not {
        href for href in hrefs if href and ("evil" in href or "javascript" in href or ".." in href)
    }
