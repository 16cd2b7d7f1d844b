"""The pages in Debian's Chromium: silent, inert, complete, usable by keyboard."""

from __future__ import annotations

import csv
import io
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from nsysflow.render import render_index, render_rank
from tests.support import documents
from tests.support.browser import browser, url
from tests.support.hard_documents import HOSTILE, hostile, hostile_job, huge, wordy
from tests.support.job_documents import job

PAGES = {
    "rank-full": lambda: render_rank(documents.full()),
    "rank-minimal": lambda: render_rank(documents.minimal()),
    "rank-hostile": lambda: render_rank(hostile()),
    "index-1": lambda: render_index(job(1)),
    "index-8": lambda: render_index(job(8)),
    "index-hostile": lambda: render_index(hostile_job()),
    "index-64": lambda: render_index(job(64)),
    "rank-wordy": lambda: render_rank(wordy()),
}

AXE = """axe.run().then(r => r.violations.map(
    v => [v.impact, v.id, v.nodes.slice(0, 3).map(n => n.html.slice(0, 200))]
))"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    for name, make in PAGES.items():
        (out / f"{name}.html").write_text(make(), encoding="utf-8")
    return out


@pytest.fixture(scope="module")
def chrome(chromium: str) -> Iterator[Any]:
    pytest.importorskip("playwright", reason="no Playwright: pip install playwright")
    with browser(chromium) as started:
        yield started


class Seen:
    """A page with everything it said and asked for."""

    def __init__(self, chrome: Any, **options: Any) -> None:
        """Open a tab of its own."""
        options.setdefault("viewport", {"width": 1280, "height": 900})
        self.context = chrome.new_context(**options)
        self.page = self.context.new_page()
        self.said: list[str] = []
        self.asked: list[str] = []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def open(self, file: Path, anchor: str = "") -> Any:
        self.page.goto(url(file) + anchor)
        return self.page


@pytest.fixture
def seen(chrome: Any, request: pytest.FixtureRequest) -> Iterator[Seen]:
    one = Seen(chrome, **getattr(request, "param", {}))
    yield one
    one.context.close()


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_silent_asks_for_nothing_and_keeps_its_title(
    folder: Path, seen: Seen, name: str
) -> None:
    file = folder / f"{name}.html"
    page = seen.open(file)
    title = page.title()
    page.mouse.move(400, 300)
    for _ in range(12):
        page.keyboard.press("Tab")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    acting = "[onclick],[onload],[onerror],[onmouseover],[style]"
    assert page.locator(acting).count() == 0
    for target in page.query_selector_all("h3, .kname, td")[:40]:
        target.dispatch_event("mouseover")
        target.dispatch_event("click")
    assert seen.said == []
    assert [request for request in seen.asked if request not in (url(file), "data:,")] == []
    assert page.title() == title
    assert "PWNED" not in title or "hostile" in name


def test_hostile_names_stand_in_the_page_as_text(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-hostile.html")
    assert page.title().endswith("· nsysflow")
    assert page.evaluate("document.scripts.length") == 2
    names = page.eval_on_selector_all("#t-kernels .kname", "all => all.map(e => e.textContent)")
    for key in (
        "script",
        "img",
        "attribute",
        "svg",
        "kernel",
        "separator",
        "emoji",
        "formula",
        "template",
    ):
        assert HOSTILE[key] in names, key
    titles = page.eval_on_selector_all("#t-kernels .kname[title]", "all => all.map(e => e.title)")
    assert HOSTILE["kernel"] in titles


def boxes(page: Any, selector: str) -> list[dict[str, float]]:
    return [element.bounding_box() for element in page.query_selector_all(selector)]


@pytest.mark.parametrize("name", ["rank-full", "rank-hostile", "index-8", "index-64"])
def test_the_first_screen_holds_verdict_mfu_bar_and_three_findings(
    folder: Path, seen: Seen, name: str
) -> None:
    page = seen.open(folder / f"{name}.html")
    assert len(boxes(page, "h1")) == 1
    figures = boxes(page, ".kpi")
    assert len(figures) == 5
    found = boxes(page, ".first .finding")
    assert len(found) >= 3
    bar = boxes(page, "#summary svg.bar")[:1]
    for box in (*boxes(page, "h1"), *figures, *bar, *found[:3]):
        assert box["width"] > 0
        assert box["y"] + box["height"] <= 900
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 1280
    for text in page.eval_on_selector_all(
        ".first .finding .b", "all => all.map(e => e.textContent)"
    )[:3]:
        assert re.fullmatch(r"≤ [\d,.]+\u202f(ms|µs|s) · [\d.<]+\u202f%", text), text
    labels = page.eval_on_selector_all(".kpi dt", "all => all.map(e => e.textContent)")
    assert "MFU" in labels
    drawn = page.eval_on_selector_all(
        "#summary svg.bar:first-of-type > rect",
        "all => all.map(e => parseFloat(e.getAttribute('width')))",
    )
    assert sum(drawn[: len(drawn)]) >= 99.9


def test_mfu_gives_its_reason_on_the_first_screen(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-minimal.html")
    box = page.locator(".kpi", has_text="MFU").first
    assert "not built yet" in box.inner_text()
    assert box.bounding_box()["y"] < 900
    assert boxes(page, "#bar6")[0]["y"] < 900


@pytest.mark.parametrize(
    "seen",
    [{"viewport": {"width": 390, "height": 844}}, {"viewport": {"width": 320, "height": 640}}],
    indirect=True,
    ids=["390", "320"],
)
@pytest.mark.parametrize("name", PAGES)
def test_a_phone_never_scrolls_sideways(folder: Path, seen: Seen, name: str) -> None:
    page = seen.open(folder / f"{name}.html")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    width = page.evaluate("document.documentElement.clientWidth")
    assert page.evaluate("document.documentElement.scrollWidth") <= width


@pytest.mark.parametrize(
    ("name", "most"),
    [
        *(("rank-full", 6), ("rank-minimal", 6), ("rank-wordy", 6), ("rank-hostile", 6)),
        *(("index-8", 6), ("index-64", 6)),
    ],
)
def test_print_is_a_few_pages(folder: Path, seen: Seen, name: str, most: int) -> None:
    page = seen.open(folder / f"{name}.html")
    pdf = page.pdf(format="A4", prefer_css_page_size=True)
    count = len(re.findall(rb"/Type\s*/Page[^s]", pdf))
    assert 1 <= count <= most
    assert len(pdf) < 700_000


@pytest.mark.parametrize(
    ("rows", "note"),
    [
        (".card", "#findings > .paper"),
        ("#capture .warn li", "#capture .warn .paper"),
        ("#checks li", "#checks .paper"),
    ],
)
def test_what_paper_leaves_out_is_said(folder: Path, seen: Seen, rows: str, note: str) -> None:
    page = seen.open(folder / "rank-wordy.html")
    count = page.locator(rows).count()
    assert page.locator(note).is_hidden()
    page.emulate_media(media="print")
    shown = sum(row.is_visible() for row in page.locator(rows).all())
    assert 1 <= shown < count
    assert page.inner_text(note).startswith(f"{count - shown} more ")


def test_paper_opens_the_first_cards_only(folder: Path, seen: Seen) -> None:
    """Bodies of cards fill sheets: the longer their texts, the fewer are open on paper."""
    opened = {}
    for name in ("rank-full", "rank-wordy"):
        page = seen.open(folder / f"{name}.html")
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        cards = page.locator(".card").all()
        opened[name] = [card.locator(".body").is_visible() for card in cards]
    assert opened["rank-wordy"] == [True] + [False] * 59
    assert sum(opened["rank-full"]) >= 3
    assert opened["rank-full"] == sorted(opened["rank-full"], reverse=True)


@pytest.mark.parametrize("seen", [{"color_scheme": "dark"}], indirect=True)
def test_dark_follows_the_system_and_the_button(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    ground = "getComputedStyle(document.body).backgroundColor"
    assert page.evaluate(ground) == "rgb(20, 23, 28)"
    page.click("#theme")
    assert page.evaluate(ground) == "rgb(255, 255, 255)"
    fill = page.evaluate("getComputedStyle(document.querySelector('#bar6 rect.compute')).fill")
    assert fill == "rgb(61, 98, 224)"
    assert seen.said == []


def column(page: Any, table: str, at: int) -> list[str]:
    return page.eval_on_selector_all(
        f"#{table} tbody tr", f"rows => rows.map(r => r.cells[{at}].textContent)"
    )


def test_tables_sort_by_value_with_the_unknown_last(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    head = page.locator("#t-collectives thead th", has_text="Transfer")
    at = head.evaluate("e => e.cellIndex")
    button = head.locator("button")
    button.click()
    assert head.get_attribute("aria-sort") == "descending"
    assert column(page, "t-collectives", at) == ["188.0", "not split"]
    button.press("Enter")
    assert head.get_attribute("aria-sort") == "ascending"
    assert column(page, "t-collectives", at) == ["188.0", "not split"]
    page.click("#t-kernels thead th:first-child button")
    names = column(page, "t-kernels", 0)
    assert names[:-1] == sorted(names[:-1], key=str.lower)
    assert names[-1] == "202 other names"


def test_a_filter_hides_rows_and_says_how_many(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    page.fill("#kernels input.filter >> nth=0", "NVJET")
    assert page.locator("#t-kernels tbody tr:visible").count() == 2
    assert page.locator("#kernels .fcount").first.inner_text() == "2 of 10 rows"


def test_a_long_table_begins_folded_and_opens_by_button_filter_and_link(
    folder: Path, seen: Seen
) -> None:
    page = seen.open(folder / "rank-hostile.html")
    rows = page.locator("#t-kernels tbody tr")
    assert rows.count() == len(HOSTILE)
    assert page.locator("#t-kernels tbody tr:visible").count() == 12
    page.click("#t-kernels thead th:nth-child(5) button")
    assert page.locator("#t-kernels tbody tr:visible").count() == 12
    page.click("button.all[aria-controls=t-kernels]")
    assert page.locator("#t-kernels tbody tr:visible").count() == rows.count()
    page.fill("#t-collectives >> xpath=ancestor::div[@class='blk'] >> input.filter", "svg")
    assert page.locator("#t-collectives tbody tr:visible").count() == 1
    last = page.locator("#t-gaps tbody tr").last
    assert last.is_hidden()
    page.evaluate("document.querySelector('#t-gaps tbody tr:last-child').id = 'aim'")
    page.evaluate("location.hash = 'aim'")
    page.wait_for_function("!document.getElementById('t-gaps').classList.contains('short')")
    assert last.is_visible()
    assert seen.said == []


def tab_to(page: Any, selector: str, most: int = 400) -> None:
    """Press Tab until an element has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        if page.evaluate("s => document.activeElement.matches(s)", selector):
            return
    raise AssertionError(f"Tab never reaches {selector}")


def test_tables_are_used_by_keyboard_alone(folder: Path, seen: Seen) -> None:
    """Sort, unfold, filter and export without a pointer, in the order in which Tab goes."""
    page = seen.open(folder / "rank-hostile.html", "#kernels")
    rows = page.locator("#t-kernels tbody tr")
    page.locator("#kernels h2").evaluate("e => { e.tabIndex = -1; e.focus(); }")
    tab_to(page, "#kernels input.filter", 3)
    page.keyboard.type("KERNEL_WITH_NO_SUCH_NAME")
    assert page.locator("#t-kernels tbody tr:visible").count() == 0
    assert page.locator("#kernels .fcount").first.inner_text() == f"0 of {rows.count()} rows"
    page.keyboard.press("Escape")
    assert page.input_value("#kernels input.filter >> nth=0") == ""
    assert page.locator("#t-kernels tbody tr:visible").count() == rows.count()
    with page.expect_download() as download:
        tab_to(page, "#kernels button.csv", 2)
        page.keyboard.press("Enter")
    assert download.value.suggested_filename == "t-kernels.csv"
    tab_to(page, "#t-kernels th button", 3)
    head = page.locator("#t-kernels thead th").first
    page.keyboard.press("Space")
    assert head.get_attribute("aria-sort") == "ascending"
    page.keyboard.press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    page.locator("#t-api").evaluate("e => e.closest('details').querySelector('summary').focus()")
    page.keyboard.press("Enter")
    assert page.locator("#t-api").is_visible()
    tab_to(page, "button.all[aria-controls=t-api]", 30)
    page.keyboard.press("Enter")
    assert page.locator("#t-api tbody tr:visible").count() == len(HOSTILE)
    assert seen.said == []


def test_a_copied_name_is_whole_where_the_cell_is_cut(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-hostile.html")
    page.click("button.all[aria-controls=t-kernels]")
    name = page.locator("#t-kernels code.kname[title]", has_text="very_long").first
    full = name.get_attribute("title")
    assert name.evaluate("e => e.scrollWidth > e.clientWidth")
    copied = name.evaluate(
        "e => { getSelection().selectAllChildren(e); return `${getSelection()}`; }"
    )
    assert copied == full
    assert len(full) > 48


def test_a_link_into_a_filtered_table_shows_its_row(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    row = page.locator("#t-kernels tbody tr").nth(5)
    row.evaluate("e => { e.id = 'aim'; }")
    page.fill("#kernels input.filter >> nth=0", "no kernel is called so")
    assert row.is_hidden()
    page.evaluate("location.hash = 'aim'")
    page.wait_for_function("!document.getElementById('aim').hidden")
    assert row.is_visible()
    assert page.input_value("#kernels input.filter >> nth=0") == ""


def test_the_same_link_opens_a_card_again(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    link, card = page.locator(".first a").nth(2), page.locator(".card").nth(2)
    link.click()
    assert card.get_attribute("open") is not None
    card.locator("summary").click()
    assert card.get_attribute("open") is None
    link.click()
    assert card.get_attribute("open") is not None


def read_csv(page: Any, table: str) -> list[dict[str, str]]:
    with page.expect_download() as download:
        page.locator(f".blk:has(> .tw > #{table}) button.csv").click()
    text = Path(download.value.path()).read_text(encoding="utf-8")
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_holds_the_values_of_the_document(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    document = documents.full()
    rows = read_csv(page, "t-kernels")
    for row, kernel in zip(rows, document["kernels"]["top"], strict=True):
        if kernel["name"] != "(other)":
            assert (row["name"], row["class"]) == (kernel["name"], kernel["class"])
            assert (int(row["work_ns"]), int(row["count"])) == (kernel["work_ns"], kernel["count"])
    rows = read_csv(page, "t-collectives")
    assert rows[1]["transfer_ns"] == rows[1]["members"] == ""
    assert "transfer_ns: not split" in rows[1]["status"]
    rows = read_csv(page, "t-causes")
    assert int(rows[-1]["ns"]) == document["buckets"]["window_ns"]


def test_csv_cannot_become_a_formula(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-hostile.html")
    names = [row["name"] for row in read_csv(page, "t-kernels")]
    assert "'" + HOSTILE["formula"] in names
    assert HOSTILE["kernel"] in names
    assert not [name for name in names if name[:1] in "=+-@"]


def test_a_deep_link_opens_what_is_folded(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html", "#f-launch")
    assert page.evaluate("document.getElementById('f-launch').open")
    assert boxes(page, "#f-launch")[0]["y"] < 900
    page.goto(url(folder / "rank-full.html") + "#t-nvtx")
    assert page.locator("#t-nvtx").is_visible()
    page.goto(url(folder / "rank-full.html") + "#%E0%A4%A")
    assert seen.said == []


def test_a_term_is_explained_on_focus_until_escape(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    page.locator("a.term", has_text="MFU").first.focus()
    assert page.locator("#tip").inner_text().startswith("Model FLOPs utilisation")
    page.keyboard.press("Escape")
    assert page.locator("#tip").count() == 0


def window(page: Any) -> tuple[float, float]:
    x, _, width, _ = page.evaluate("document.getElementById('plot').getAttribute('viewBox')").split(
        " "
    )
    return float(x), float(width)


def test_the_timeline_is_walked_by_keyboard(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    page.focus("#tlp")
    whole = window(page)
    page.keyboard.press("+")
    zoomed = window(page)
    assert zoomed[1] == pytest.approx(whole[1] * 0.6)
    page.keyboard.press("ArrowRight")
    assert window(page)[0] > zoomed[0]
    page.keyboard.press("a")
    assert window(page)[0] == pytest.approx(zoomed[0], abs=1)
    page.keyboard.press("0")
    assert window(page) == whole
    page.keyboard.press("n")
    first = page.inner_text("#tldet")
    assert "Idle, by cause" in first
    assert page.locator("#selr").is_visible()
    assert window(page)[1] < whole[1] / 2
    page.keyboard.press("n")
    assert page.inner_text("#tldet") != first
    page.keyboard.press("p")
    assert page.inner_text("#tldet") == first
    page.keyboard.press("Escape")
    assert page.inner_text("#tldet").startswith("Hover or click")
    assert seen.said == []


def test_a_finding_jumps_to_its_place_in_the_timeline(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html", "#f-host_sync")
    page.click("#f-host_sync a[data-at]")
    start, width = window(page)
    assert width < 1_000_000
    document = documents.full()
    gap = document["gaps"]["top"][2]
    step = document["steps"]["items"][document["timeline"]["steps"][0]["index"]]
    at = (gap["start_ns"] - step["start_ns"]) / 100
    assert start <= at <= start + width


def test_hover_click_wheel_and_steps(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    page.locator("#tlp").scroll_into_view_if_needed()
    box = boxes(page, "#tlp")[0]
    page.mouse.move(box["x"] + 300, box["y"] + 44)
    assert "Phase (NVTX)" in page.inner_text("#tldet")
    whole = window(page)
    page.mouse.wheel(0, -200)
    assert window(page) == whole
    page.locator("#tlp").scroll_into_view_if_needed()
    box = boxes(page, "#tlp")[0]
    page.mouse.move(box["x"] + 300, box["y"] + 44)
    page.keyboard.down("Control")
    page.mouse.wheel(0, -200)
    page.keyboard.up("Control")
    page.wait_for_function("document.getElementById('tlwin').textContent.indexOf('whole') < 0")
    assert window(page)[1] < whole[1]
    page.select_option("#stepsel", "1")
    assert page.inner_text("#tlwin").startswith("whole step")
    assert window(page)[1] != whole[1]
    page.click("button[data-tl='+']")
    assert not page.inner_text("#tlwin").startswith("whole step")
    assert seen.said == []


@pytest.mark.parametrize("seen", [{"java_script_enabled": False}], indirect=True)
def test_without_javascript_everything_but_zooming_is_there(folder: Path, seen: Seen) -> None:
    page = seen.open(folder / "rank-full.html")
    assert page.locator("#plot path").count() > 10
    assert page.locator("#stepsel").is_hidden()
    assert page.locator("#theme").is_hidden()
    assert page.locator("#t-kernels tbody tr").count() == 10
    texts = page.locator("#nv text").all_text_contents()
    assert {"forward", "backward"} <= set(texts)


def test_marks_of_the_static_picture_lie_where_the_script_puts_them(
    folder: Path, chrome: Any
) -> None:
    still, live = Seen(chrome, java_script_enabled=False), Seen(chrome)
    shapes = []
    for one in (still, live):
        page = one.open(folder / "rank-full.html")
        page.locator("#tlp").scroll_into_view_if_needed()
        inner = page.locator("#plot path.mem").first.bounding_box()
        outer = page.locator("#tlp").bounding_box()
        shapes.append((inner["x"] - outer["x"], inner["width"]))
        one.context.close()
    assert shapes[0][0] == pytest.approx(shapes[1][0], abs=2)
    assert shapes[0][1] == pytest.approx(shapes[1][1], abs=2)


@pytest.mark.parametrize(
    ("make", "limit"), [(documents.full, 1.0), (huge, 3.0)], ids=["typical", "largest"]
)
def test_pages_open_quickly(tmp_path: Path, seen: Seen, make: Any, limit: float) -> None:
    file = tmp_path / "page.html"
    file.write_text(render_rank(make()), encoding="utf-8")
    seen.open(file)
    begun = time.perf_counter()
    seen.open(file)
    # Twice the promise: the machine of a test run is shared.
    assert time.perf_counter() - begun < 2 * limit
    assert seen.said == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["rank-full", "rank-minimal", "index-8", "index-64"])
def test_axe_finds_no_fault(folder: Path, chrome: Any, name: str, width: int, scheme: str) -> None:
    axe = os.environ.get("NSYSFLOW_AXE")
    if not axe:
        pytest.skip("axe-core is not here: NSYSFLOW_AXE names its axe.min.js")
    one = Seen(
        chrome, viewport={"width": width, "height": 900}, color_scheme=scheme, bypass_csp=True
    )
    page = one.open(folder / f"{name}.html")
    page.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
    page.add_script_tag(path=axe)
    found = page.evaluate(AXE)
    one.context.close()
    assert [fault for fault in found if fault[0] in ("serious", "critical")] == []
