"""The file named as a target: refused before any work where something would be lost."""

from __future__ import annotations

import gzip
import shutil
import sqlite3
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zstandard

from tests.support.command import Ended, in_process, snapshot
from tests.support.confined import confined
from tests.support.export import busy_export

QUERY = "SELECT count(*) AS n FROM op"


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of one rank that was reported once."""
    run = tmp_path_factory.mktemp("reported") / "run"
    busy_export().write_sqlite(run / "rank0.sqlite")
    assert in_process("report", run, "--jobs", 1).code == 0
    return run


@pytest.fixture
def run(reported: Path, tmp_path: Path) -> Path:
    """A copy of it to write beside, with one of everything that is not to be lost."""
    run = shutil.copytree(reported, tmp_path / "run")
    trace = (run / "rank0.sqlite").read_bytes()
    (run / "other.bin").write_bytes(trace)
    (run / "rank1.sqlite.gz").write_bytes(gzip.compress(trace))
    (run / "odd.txt").write_bytes(gzip.compress(b"rows"))
    (run / "rank2.sqlite.zst").write_bytes(zstandard.compress(trace))
    (run / "odder.txt").write_bytes(zstandard.compress(b"rows"))
    for name in ("rank3.nsys-rep", "rank4.qdrep", "rank5.QDREP", "rank6.qdstrm"):
        (run / name).write_bytes(b"a report")
    (run / "rank7.sqlite").write_bytes(b"an export that was cut short")
    folder = run / "rank8_pqtdir"
    folder.mkdir()
    pq.write_table(pa.table({"id": [1]}), folder / "StringIds.parquet")
    (run / "nsysflow.toml").write_text("step_range = 'step'\n")
    (run / "folder").mkdir()
    (run / "link.txt").symlink_to("rank0.sqlite")
    (run / "nowhere").symlink_to("nothing/here")
    return run


OUT = "nsysflow-report"
KEPT = [
    *("rank0.sqlite", "other.bin", "rank1.sqlite.gz", "odd.txt", "rank2.sqlite.zst", "odder.txt"),
    *("rank3.nsys-rep", "rank4.qdrep", "rank5.QDREP", "rank6.qdstrm", "rank7.sqlite"),
    *("rank8_pqtdir/StringIds.parquet", "rank8_pqtdir/new.parquet", "nsysflow.toml", "link.txt"),
    *("folder", "folder/nsysflow.toml", "nowhere", "no-folder/rows", "rank0.sqlite/rows"),
    *(f"{OUT}/{name}" for name in ("result.json", "rank-0000.json", "rank-0000.html")),
    *(f"{OUT}/{name}" for name in ("index.html", "new.html", ".nsysflow", "nsysflow.log")),
    *(f"{OUT}/store/{name}" for name in ("FORMAT", "new.txt", "rank0.sqlite/new")),
]


def refused(ended: Ended, run: Path, before: dict[str, tuple[int, int, str]], name: str) -> None:
    assert (ended.code, ended.out, len(ended.failures)) == (2, "", 1), ended.err
    assert str(Path(name).name) in ended.err
    assert ".tmp" not in ended.err
    assert "fault" not in ended.err
    assert "name a" in ended.err or "choose another" in ended.err or "is a directory" in ended.err
    assert snapshot(run) == before


@pytest.mark.parametrize("name", KEPT)
def test_the_rows_of_sql_take_the_place_of_nothing_of_worth(run: Path, name: str) -> None:
    before = snapshot(run)
    ended = in_process("sql", run / OUT, QUERY, "--format", "csv", "-o", run / name)
    refused(ended, run, before, name)


@pytest.mark.parametrize("name", KEPT)
def test_the_summary_takes_the_place_of_nothing_of_worth(run: Path, name: str) -> None:
    before = snapshot(run)
    ended = in_process("report", run / "rank0.sqlite", "-o", run / OUT, "--markdown", run / name)
    refused(ended, run, before, name)


def test_nothing_is_done_before_the_target_is_settled(reported: Path, tmp_path: Path) -> None:
    run = shutil.copytree(reported, tmp_path / "run", ignore=shutil.ignore_patterns(OUT))
    before = snapshot(run)
    ended = in_process("report", run, "--markdown", tmp_path / "none" / "x.md")
    refused(ended, run, before, "x.md")
    assert f"{tmp_path / 'none'} does not exist" in ended.err
    refused(in_process("sql", run, QUERY, "-o", tmp_path / "none" / "x"), run, before, "x")
    # What the command is about to make counts as made.
    for name in ("result.json", "new.html", "store/x.md"):
        ended = in_process("report", run, "--markdown", run / OUT / name)
        assert (ended.code, snapshot(run)) == (2, before)
    assert in_process("report", run, "--markdown", run / OUT / "x.md", "--jobs", 1).code == 0
    assert (run / OUT / "x.md").read_text("utf-8").startswith("# run\n")


def test_a_summary_replaces_only_a_summary(reported: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for text in ("# My notes\n\nyears of work\n", "", "# run\n\n| a | b |\n"):
        notes = tmp_path / "notes.md"
        notes.write_text(text)
        ended = in_process("report", reported, "-o", out, "--markdown", notes)
        assert (ended.code, len(ended.failures), notes.read_text()) == (2, 1, text)
        assert "name another file, or remove it first" in ended.err
    assert not out.exists()
    summary = tmp_path / "summary.md"
    for _ in range(2):
        ended = in_process("report", reported, "-o", out, "--markdown", summary, "--jobs", 1)
        assert (ended.code, ended.err) == (0, "")
        summary.write_text(summary.read_text("utf-8") + "\na line of an older summary\n")
    linked = tmp_path / "linked.md"
    linked.symlink_to(summary)
    assert in_process("report", reported, "-o", out, "--markdown", linked, "--jobs", 1).code == 0
    assert linked.is_symlink()
    assert "older" not in summary.read_text("utf-8")


@pytest.mark.parametrize("name", ["rows.csv", "rows.json", "result.json", "rows", "rows.parquet"])
def test_rows_replace_ordinary_files(run: Path, name: str) -> None:
    pq.write_table(pa.table({"old": [1]}), run / name)
    form = "parquet" if name == "rows.parquet" else "csv"
    assert in_process("sql", run / OUT, QUERY, "--format", form, "-o", run / name).code == 0
    if form == "csv":
        assert (run / name).read_text() == "n\n2\n"
    else:
        assert pq.read_table(run / name).to_pylist() == [{"n": 2}]


@pytest.mark.parametrize(
    ("form", "name"),
    [("csv", "n.csv"), ("table", "n.TXT"), ("json", "n"), ("json", "n.json"), ("parquet", "n")],
)
def test_rows_replace_rows(run: Path, form: str, name: str) -> None:
    (run / name).touch()
    for query in ("SELECT lane FROM op WHERE false", QUERY, "SELECT NULL AS a, 'b,c' AS b"):
        ended = in_process("sql", run / OUT, query, "--format", form, "-o", run / name)
        assert (ended.code, ended.err) == (0, "")


@pytest.mark.parametrize("name", ["notes.md", "train.py", "Makefile", "config.json", "to.txt"])
def test_rows_do_not_replace_what_is_not_rows(run: Path, name: str) -> None:
    (run / "notes.md").write_text("# Notes")
    (run / name).symlink_to("notes.md") if name == "to.txt" else (run / name).write_text("{}")
    before = snapshot(run)
    ended = in_process("sql", run / OUT, QUERY, "--format", "csv", "-o", run / name)
    refused(ended, run, before, name)
    assert "name another file, or remove it first" in ended.err


def test_a_database_of_somebody_else_stays(run: Path) -> None:
    path = run / "mine.db"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE mine (a)")
    connection.close()
    before = snapshot(run)
    ended = in_process("sql", run / OUT, QUERY, "-o", path)
    refused(ended, run, before, "mine.db")
    assert "inputs are never written to" in ended.err


def test_targets_that_cannot_be_written(run: Path) -> None:
    closed = run / "closed"
    closed.mkdir()
    closed.chmod(0o555)
    mine = run / "protected.csv"
    mine.write_text("a\n")
    mine.chmod(0o444)
    before = snapshot(run)
    for path in (closed / "rows.csv", mine):
        ended = confined("sql", run / OUT, QUERY, "-o", path)
        refused(ended, run, before, path.name)
    ended = confined("report", run / "rank0.sqlite", "-o", run / OUT, "--markdown", closed / "x.md")
    refused(ended, run, before, "x.md")


@pytest.mark.parametrize(
    "command", [("report", "{run}", "-o", "{out}"), ("analyse", "{out}"), ("render", "{out}")]
)
@pytest.mark.parametrize("mode", [0o555, 0o444])
def test_folders_that_cannot_be_written(run: Path, command: tuple[str, ...], mode: int) -> None:
    out = run / OUT
    before = snapshot(run)
    out.chmod(mode)
    try:
        ended = confined(*(part.format(run=run / "rank0.sqlite", out=out) for part in command))
    finally:
        out.chmod(0o755)
    assert (ended.code, ended.out, len(ended.failures)) == (2, "", 1), ended.err
    assert ended.err.startswith(f"nsysflow: {out} cannot be ")
    assert "Permission denied; " in ended.err
    assert snapshot(run) == before


@pytest.mark.parametrize("part", ["nsysflow.log", "store"])
def test_parts_that_cannot_be_written(run: Path, part: str) -> None:
    path = run / OUT / part
    path.chmod(0o444 if path.is_file() else 0o555)
    before = snapshot(run)
    ended = confined("analyse", run / OUT)
    assert (ended.code, ended.out, len(ended.failures)) == (2, "", 1), ended.err
    assert "cannot be written: Permission denied" in ended.err
    assert snapshot(run) == before
