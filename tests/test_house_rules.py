"""What no linter checks: small files, true headers, words that do not belong, one door each."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from nsysflow.sqlfile import SqlFile
from tests.support import sql_readme

ROOT = Path(__file__).parent.parent
CODE = sorted((ROOT / "nsysflow").rglob("*.py"))
SQL = sorted((ROOT / "sql").rglob("*.sql"))
MOST_LINES = {".py": 350, ".sql": 170}
# Spelled in two parts, or this file would hold them.
FORBIDDEN = ["TO" + "DO", "FIX" + "ME", "XX" + "X", "NotImplemented" + "Error"]
ELSEWHERE = ["/wo" + "rk/", ".lib" + "rary", "py" + "pi.org", "npm" + "js.", "deb." + "debian"]


def tracked() -> list[Path]:
    """The files that belong to the project: git's, or without git all that are not built."""
    done = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode:
        pytest.skip("no git checkout")
    files = [ROOT / line for line in done.stdout.splitlines()]
    return [path for path in files if path.is_file() and not path.is_symlink()]


def name(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", [*CODE, *SQL], ids=name)
def test_files_are_small(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= MOST_LINES[path.suffix]


def test_nothing_is_left_for_later() -> None:
    found = [
        f"{name(path)}: {word}"
        for folder in ("nsysflow", "sql", "reports")
        for path in sorted((ROOT / folder).rglob("*"))
        if path.suffix in {".py", ".sql", ".html", ".css", ".js"}
        for word in FORBIDDEN
        if re.search(rf"\b{word}\b", path.read_text("utf-8"))
    ]
    assert found == []


def test_no_place_of_another_machine() -> None:
    found = []
    for path in tracked():
        try:
            text = path.read_text("utf-8")
        except UnicodeDecodeError:
            continue
        found += [f"{name(path)}: {word}" for word in ELSEWHERE if word in text]
    assert found == []


def test_only_one_module_starts_processes() -> None:
    starts = re.compile(
        r"^\s*(import subprocess|from subprocess|.*\bos\.(system|popen|exec|spawn))"
    )
    found = [
        name(path)
        for path in CODE
        if any(starts.match(line) for line in path.read_text("utf-8").splitlines())
    ]
    assert found == ["nsysflow/nsys.py"]


def test_only_the_console_writes_to_stdout() -> None:
    found = [name(path) for path in CODE if "sys.stdout" in path.read_text("utf-8")]
    assert found == ["nsysflow/cli.py", "nsysflow/console.py"]


def test_the_demo_knows_nothing_of_the_analysis() -> None:
    judged = re.compile(r"nsysflow\.(analyse|analyses|convert|sqlfile|resources|read|rank|render)")
    found = [
        name(path)
        for path in sorted((ROOT / "nsysflow" / "demo").glob("*.py"))
        if judged.search(path.read_text("utf-8"))
    ]
    assert found == []


def ident(each: SqlFile) -> str:
    return f"{each.folder}/{each.stem}"


@pytest.mark.parametrize("each", sql_readme.files(), ids=ident)
def test_headers_tell_the_truth(each: SqlFile) -> None:
    assert each.title.startswith(f"{each.stem}:"), "the first line names the file"
    assert each.question or len(each.title) > len(each.stem) + 10
    assert each.grain, "Grain: what is a row?"
    # A statement may hand another's columns through; then it says whose.
    passed_on = re.search(r"^-- Columns:\n--   \(those of (\w+)", each.text, re.MULTILINE)
    assert each.columns or passed_on, "Columns: name, type and meaning of each"
    assert {param[0] for param in each.params} == set(each.param_names)


@pytest.mark.parametrize("each", sql_readme.files(), ids=ident)
def test_duckdb_parses_each_file(each: SqlFile) -> None:
    with duckdb.connect() as connection:
        statements = connection.extract_statements(each.text)
    assert [statement.type for statement in statements] == [duckdb.StatementType.SELECT]


def test_sql_readme_is_what_the_headers_say(golden: Callable[[Path, str], None]) -> None:
    golden(ROOT / "sql" / "README.md", sql_readme.readme())


def test_an_analysis_has_one_name_everywhere() -> None:
    from nsysflow.analyses import ANALYSES

    stems = {path.stem for path in (ROOT / "sql" / "analyses").glob("*.sql")}
    modules = {path.stem for path in (ROOT / "nsysflow" / "analyses").glob("*.py")}
    for analysis in ANALYSES:
        assert analysis.name in modules
        assert set(analysis.queries) <= stems
        assert analysis.question.endswith("?")
        assert min(map(len, (analysis.why, analysis.do, analysis.misleads))) > 20


def test_ci_runs_what_the_readme_says() -> None:
    assert "make test" in (ROOT / "README.md").read_text()
    assert "make test" in (ROOT / ".ci" / "run").read_text()
    for target in re.findall(r"`make (\w+)`", (ROOT / "README.md").read_text()):
        assert re.search(rf"^{target}:.*##", (ROOT / "Makefile").read_text(), re.MULTILINE)
