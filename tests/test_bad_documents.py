"""``nsysflow render`` from documents that are gone, closed, cut or edited: each costs its page."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import in_process, read_json
from tests.support.confined import confined
from tests.support.export import busy_export


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of three ranks."""
    run = tmp_path_factory.mktemp("run")
    for rank in range(3):
        busy_export().write_sqlite(run / f"rank{rank}.sqlite")
    assert in_process("report", run, "--jobs", 1).code == 0
    return run / "nsysflow-report"


@pytest.fixture
def out(reported: Path, tmp_path: Path) -> Path:
    """A copy of it to spoil."""
    return shutil.copytree(reported, tmp_path / "out")


def edit(**changed: object) -> Callable[[Path], None]:
    """Replace top-level values; None removes one."""

    def spoil(path: Path) -> None:
        document = {**read_json(path), **changed}
        path.write_text(json.dumps({k: v for k, v in document.items() if v is not None}))

    return spoil


def half(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def idle_text(path: Path) -> None:
    document = read_json(path)
    document["buckets"]["idle"] = "text"
    path.write_text(json.dumps(document))


def idle_cause_text(path: Path) -> None:
    document = read_json(path)
    document["causes"]["idle"] = "text"
    path.write_text(json.dumps(document))


def folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


BAD: list[tuple[Callable[[Path], object], str]] = [
    (Path.unlink, "is missing"),
    (lambda path: path.chmod(0), "cannot be read: Permission denied"),
    (folder, "cannot be read: Is a directory"),
    (half, "is damaged"),
    (lambda path: path.write_bytes(b""), "is damaged"),
    (lambda path: path.write_bytes(b"\xff\xfe{}"), "is damaged"),
    (lambda path: path.write_text("[" * 100_000), "is damaged"),
    (lambda path: path.write_text("[1]"), "is no document of schema 1"),
    (edit(schema=2), "is no document of schema 1"),
    (idle_text, "is damaged"),
    (idle_cause_text, "is damaged"),
    (edit(capture=None), "is damaged"),
    (edit(capture={}), "is damaged"),
    (edit(steps="none"), "is damaged"),
    (edit(lane=[]), "is damaged"),
]


# Once in the process itself and once from workers: the reason must survive the way.
JOBS = [(*each, 1) for each in BAD] + [(*BAD[number], 2) for number in (0, 3, 9)]


@pytest.mark.parametrize(("spoil", "why", "jobs"), JOBS)
def test_a_bad_rank_document_costs_its_page(
    reported: Path, out: Path, spoil: Callable[[Path], object], why: str, jobs: int
) -> None:
    spoil(out / "rank-0001.json")
    good = {name: (reported / name).read_bytes() for name in ("rank-0000.html", "rank-0002.html")}
    for name in good:
        (out / name).unlink()
    (out / "index.html").write_text("old")
    ended = confined("render", out, "--jobs", jobs)
    assert (ended.code, ended.out, len(ended.failures)) == (
        3,
        f"{out}/index.html\n",
        1,
    ), ended.err
    assert ended.err.startswith(f"{out}/rank-0001.json {why}")
    assert "; run nsysflow analyse again" in ended.err or "; look at its permissions" in ended.err
    assert {path.name for path in out.glob("rank-*.html")} == set(good)
    assert {name: (out / name).read_bytes() for name in good} == good
    index = (out / "index.html").read_text("utf-8")
    assert index.endswith("</html>")
    assert 'href="rank-0000.html"' in index
    assert "rank-0001.html" not in index
    assert not list(out.glob(".*tmp*"))


def test_every_rank_document_is_bad(out: Path) -> None:
    for path in out.glob("rank-*.json"):
        half(path)
    ended = in_process("render", out, "--jobs", 1)
    assert (ended.code, len(ended.failures)) == (3, 3)
    assert [path.name for path in out.glob("*.html")] == ["index.html"]
    # The documents mended, all is well again.
    assert in_process("analyse", out, "--jobs", 1).code == 0
    ended = in_process("render", out, "--jobs", 1)
    assert (ended.code, ended.err) == (0, "")
    assert len(list(out.glob("rank-*.html"))) == 3


def test_debug_shows_where_a_page_failed(out: Path) -> None:
    idle_text(out / "rank-0001.json")
    ended = in_process("render", out, "--jobs", 1, "--debug")
    assert ended.code == 3
    assert "Traceback" in ended.err


def escaping(path: Path) -> None:
    document = read_json(path)
    document["ranks"][0]["page"] = "../rank-0000.html"
    path.write_text(json.dumps(document))


@pytest.mark.parametrize(
    "spoil", [half, edit(schema=2), edit(ranks=None), edit(ranks=3), edit(run="x"), escaping]
)
def test_a_bad_result_is_2_and_changes_nothing(out: Path, spoil: Callable[[Path], object]) -> None:
    spoil(out / "result.json")
    (out / "index.html").write_text("old")
    ended = in_process("render", out, "--jobs", 1)
    assert (ended.code, ended.out, len(ended.failures)) == (2, "", 1), ended.err
    assert str(out / "result.json") in ended.err
    assert "run nsysflow analyse again" in ended.err
    assert (out / "index.html").read_text() == "old"
    assert not (out.parent / "rank-0000.html").exists()
