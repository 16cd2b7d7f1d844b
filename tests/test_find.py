"""RUN -> inputs: what counts, what counts once, and what is named instead of lost."""

from __future__ import annotations

import gzip
import hashlib
import os
import sqlite3
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from nsysflow.errors import NothingUsableError, UsageError
from nsysflow.find import Found, find_inputs, trace_stem
from nsysflow.find import walk as walking

OLD, NEW = 1_000_000_000, 2_000_000_000


def export(path: Path, origin: str | None = None, key: str = "EXPORT_PARAM_INPUT_FILE") -> Path:
    """Write a SQLite export that says which report it was made from."""
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
    connection.execute("CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT)")
    if origin:
        connection.execute("INSERT INTO META_DATA_EXPORT VALUES (?, ?)", (key, origin))
    connection.commit()
    connection.close()
    return path


def file(path: Path, content: bytes = b"report") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def parquetdir(path: Path, origin: str | None = None) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    names = ["EXPORT_PARAM_INPUT_FILE"] if origin else []
    table = pa.table(
        {
            "name": pa.array(names, pa.string()),
            "value": pa.array([origin] if origin else [], pa.string()),
        }
    )
    parquet.write_table(table, path / "META_DATA_EXPORT.parquet")
    return path


def age(path: Path, seconds: int) -> Path:
    os.utime(path, (seconds, seconds))
    return path


def files(found: Found) -> list[str]:
    return [entry.file for entry in found.inputs]


def shape(found: Found) -> list[tuple[str, str, str | None]]:
    return [(entry.file, entry.form, entry.packed) for entry in found.inputs]


def tree(root: Path) -> dict[str, tuple[int, int, str]]:
    """Name, size, time and content of everything below ``root``."""
    return {
        str(path.relative_to(root)): (
            path.lstat().st_size,
            path.lstat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "",
        )
        for path in root.rglob("*")
    }


def test_every_form_is_found_with_its_packing(tmp_path: Path) -> None:
    for name in (
        "a.sqlite",
        "b.sqlite.gz",
        "c.sqlite.zst",
        "d.nsys-rep",
        "e.nsys-rep.gz",
        "sub/deep/f.nsys-rep.zst",
        "g_pqtdir.tar.gz",
        "h_pqtdir.tar.zst",
        "I.SQLITE",
    ):
        file(tmp_path / name)
    parquetdir(tmp_path / "j_pqtdir")
    parquetdir(tmp_path / "named_otherwise")
    file(tmp_path / "k" / "StringIds.parquet.zst")
    file(tmp_path / "notes.txt")
    file(tmp_path / "table.parquet")
    assert shape(find_inputs([tmp_path])) == [
        ("a.sqlite", "sqlite", None),
        ("b.sqlite.gz", "sqlite", "gz"),
        ("c.sqlite.zst", "sqlite", "zst"),
        ("d.nsys-rep", "nsys-rep", None),
        ("e.nsys-rep.gz", "nsys-rep", "gz"),
        ("g_pqtdir.tar.gz", "parquetdir", "gz"),
        ("h_pqtdir.tar.zst", "parquetdir", "zst"),
        ("I.SQLITE", "sqlite", None),
        ("j_pqtdir", "parquetdir", None),
        ("k", "parquetdir", "zst"),
        ("named_otherwise", "parquetdir", None),
        ("sub/deep/f.nsys-rep.zst", "nsys-rep", "zst"),
    ]


def test_a_common_suffix_counts_only_with_nsys_content(tmp_path: Path) -> None:
    export(tmp_path / "good.db")
    export(tmp_path / "better.sqlite3")
    foreign = sqlite3.connect(tmp_path / "mlflow.db")
    foreign.execute("CREATE TABLE runs (id INTEGER)")
    foreign.commit()
    foreign.close()
    file(tmp_path / "text.db", b"SQLite is nice")
    assert files(find_inputs([tmp_path])) == ["better.sqlite3", "good.db"]
    # Named on the command line it is meant, whatever it turns out to be.
    assert files(find_inputs([tmp_path / "text.db"])) == ["text.db"]


def test_a_view_or_virtual_table_does_not_make_a_database_ours(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "trap.db")
    connection.execute(
        "CREATE VIEW StringIds AS WITH RECURSIVE n(i) AS "
        "(SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT i FROM n"
    )
    connection.execute("CREATE VIRTUAL TABLE NVTX_EVENTS USING fts5(text)")
    connection.commit()
    connection.close()
    export(tmp_path / "good.sqlite")
    assert files(find_inputs([tmp_path])) == ["good.sqlite"]


def test_natural_order(tmp_path: Path) -> None:
    for number in (10, 2, 1, 33, 0):
        file(tmp_path / f"rank{number}.sqlite")
    names = files(find_inputs([tmp_path]))
    assert names == [f"rank{number}.sqlite" for number in (0, 1, 2, 10, 33)]


def test_hidden_and_marked_folders_are_not_searched(tmp_path: Path) -> None:
    file(tmp_path / "a.sqlite")
    file(tmp_path / ".cache" / "b.sqlite")
    file(tmp_path / "result" / ".nsysflow")
    file(tmp_path / "result" / "c.sqlite")
    file(tmp_path / "result" / "store" / "deep" / "d.sqlite")
    assert files(find_inputs([tmp_path])) == ["a.sqlite"]
    with pytest.raises(NothingUsableError, match="result folder"):
        find_inputs([tmp_path / "result"])


def test_folder_links_stay_inside_and_each_place_counts_once(tmp_path: Path) -> None:
    run, elsewhere = tmp_path / "run", tmp_path / "run-2"
    file(run / "real" / "a.sqlite")
    file(run / "result" / ".nsysflow")
    file(run / "result" / "sub" / "mine.sqlite")
    file(elsewhere / "secret.sqlite")
    (run / "again").symlink_to("real")
    (run / "real" / "up").symlink_to(run)
    (run / "away").symlink_to(elsewhere)
    (run / "away2").symlink_to("../run-2")
    (run / "into").symlink_to("result/sub")
    (run / "loop").symlink_to("loop")
    found = find_inputs([run])
    assert files(found) == ["real/a.sqlite"]
    assert found.failures == ()
    assert [note.split(" ")[0] for note in found.notes] == ["away", "away2"]


def test_a_folder_only_a_link_leads_to_is_found_by_the_link(tmp_path: Path) -> None:
    file(tmp_path / ".data" / "a.sqlite")
    (tmp_path / "data").symlink_to(".data")
    assert files(find_inputs([tmp_path])) == ["data/a.sqlite"]


def test_a_run_that_is_itself_a_link(tmp_path: Path) -> None:
    file(tmp_path / "real" / "a.sqlite")
    (tmp_path / "run").symlink_to("real")
    found = find_inputs([tmp_path / "run"])
    assert (files(found), found.name) == (["a.sqlite"], "run")


def test_a_file_link_counts_as_its_file(tmp_path: Path) -> None:
    run = tmp_path / "run"
    file(run / "x" / "a.sqlite")
    (run / "b.sqlite").symlink_to("x/a.sqlite")
    (run / "c.sqlite").symlink_to(file(tmp_path / "disk" / "big.sqlite"))
    assert files(find_inputs([run])) == ["c.sqlite", "x/a.sqlite"]


def test_a_dangling_link_and_a_pipe_cost_one_line_each(tmp_path: Path) -> None:
    file(tmp_path / "a.sqlite")
    (tmp_path / "gone.sqlite").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe.sqlite")
    found = find_inputs([tmp_path])
    assert files(found) == ["a.sqlite"]
    assert [(failure.file, failure.stage) for failure in found.failures] == [
        ("gone.sqlite", "find"),
        ("pipe.sqlite", "find"),
    ]
    assert "No such file" in found.failures[0].message
    assert "regular file" in found.failures[1].message


def test_an_unreadable_folder_costs_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file(tmp_path / "a.sqlite")
    (tmp_path / "locked").mkdir()
    real = os.scandir

    def scandir(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return real(path)

    monkeypatch.setattr(walking.os, "scandir", scandir)
    found = find_inputs([tmp_path])
    assert files(found) == ["a.sqlite"]
    assert [(f.file, f.message) for f in found.failures] == [
        ("locked", "cannot be read: Permission denied")
    ]


@pytest.mark.parametrize(
    "name",
    [
        "a b.sqlite",
        'it\'s "x".sqlite',
        "<b>x.sqlite",
        "100%25.sqlite",
        "what?#1.sqlite",
        "two\nlines.sqlite",
        "日本\u202e.sqlite",
        "x" * 240 + ".sqlite",
        "-o.sqlite",
        "a&b;c.sqlite",
    ],
)
def test_odd_names_are_kept_exactly(tmp_path: Path, name: str) -> None:
    export(tmp_path / name)
    file(tmp_path / "other.nsys-rep")  # makes the content of the export be asked for
    found = find_inputs([tmp_path])
    assert name in files(found)
    assert all(entry.path.exists() for entry in found.inputs)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([name, "other.nsys-rep"])


def test_a_name_that_is_no_utf8_becomes_text(tmp_path: Path) -> None:
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/r\xff1.sqlite"))
    export(path)
    found = find_inputs([tmp_path])
    assert files(found) == ["r\\xff1.sqlite"]
    assert found.inputs[0].path == path
    found.inputs[0].file.encode("utf-8")
    found = find_inputs([path])
    assert found.name == "r\\xff1"


def test_messages_stay_on_one_line(tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        find_inputs([tmp_path / "no\nsuch\x1b[31m"])
    assert "\n" not in str(caught.value)
    assert "\x1b" not in str(caught.value)


def test_a_report_and_its_export_count_once(tmp_path: Path) -> None:
    age(file(tmp_path / "r0.nsys-rep"), OLD)
    age(export(tmp_path / "r0.sqlite"), NEW)
    age(file(tmp_path / "r1.nsys-rep"), NEW)
    age(export(tmp_path / "r1.sqlite"), OLD)
    found = find_inputs([tmp_path])
    assert [(entry.file, entry.twins) for entry in found.inputs] == [
        ("r0.sqlite", ("r0.nsys-rep",)),
        ("r1.nsys-rep", ("r1.sqlite",)),
    ]
    assert "r0.sqlite is read, an export at least as new as its report" in found.notes[0]
    assert "r1.nsys-rep is read; its export is older" in found.notes[1]


def test_several_forms_of_one_export_count_once_plain_first(tmp_path: Path) -> None:
    export(tmp_path / "a.sqlite")
    (tmp_path / "a.sqlite.gz").write_bytes(gzip.compress(b"x"))
    file(tmp_path / "a.sqlite.zst")
    parquetdir(tmp_path / "a_pqtdir")
    file(tmp_path / "b.sqlite.gz")
    parquetdir(tmp_path / "b_pqtdir")
    found = find_inputs([tmp_path])
    assert [(entry.file, entry.twins) for entry in found.inputs] == [
        ("a.sqlite", ("a.sqlite.gz", "a.sqlite.zst", "a_pqtdir")),
        ("b_pqtdir", ("b.sqlite.gz",)),
    ]


def test_a_newer_form_stands_for_a_stale_plain_one(tmp_path: Path) -> None:
    age(export(tmp_path / "a.sqlite"), OLD)
    age(file(tmp_path / "a.nsys-rep"), NEW)
    age(file(tmp_path / "a.sqlite.zst"), NEW + 1)
    assert files(find_inputs([tmp_path])) == ["a.sqlite.zst"]


@pytest.mark.parametrize("form", ["sqlite", "parquetdir"])
def test_a_renamed_export_is_known_by_the_report_it_names(tmp_path: Path, form: str) -> None:
    age(file(tmp_path / "report1.nsys-rep"), OLD)
    if form == "sqlite":
        export(tmp_path / "mine.sqlite", "report1.nsys-rep")
        export(tmp_path / "other.sqlite", "report2.nsys-rep")
    else:
        parquetdir(tmp_path / "mine", "report1.nsys-rep")
        parquetdir(tmp_path / "other", "report2.nsys-rep")
    found = find_inputs([tmp_path])
    assert [(trace_stem(entry.file), entry.twins) for entry in found.inputs] == [
        ("mine", ("report1.nsys-rep",)),
        ("other", ()),
    ]


def test_a_bare_name_says_nothing_about_another_folder(tmp_path: Path) -> None:
    file(tmp_path / "node0" / "report1.nsys-rep")
    export(tmp_path / "node1" / "report1.sqlite", "report1.nsys-rep")
    assert files(find_inputs([tmp_path])) == ["node0/report1.nsys-rep", "node1/report1.sqlite"]


def test_a_full_path_does(tmp_path: Path) -> None:
    report = age(file(tmp_path / "run" / "reports" / "r.nsys-rep"), OLD)
    export(tmp_path / "run" / "exports" / "r.sqlite", str(report), "EXPORT_PARAM_INPUT_PATH_ABS")
    export(tmp_path / "run" / "exports" / "q.sqlite", "/x/reports/r.nsys-rep")
    found = find_inputs([tmp_path / "run"])
    assert [(entry.file, entry.twins) for entry in found.inputs] == [
        ("exports/q.sqlite", ()),
        ("exports/r.sqlite", ("reports/r.nsys-rep",)),
    ]


def test_the_same_name_in_two_folders_is_two_inputs(tmp_path: Path) -> None:
    file(tmp_path / "a" / "report1.sqlite", b"same")
    file(tmp_path / "b" / "report1.sqlite", b"same")
    assert files(find_inputs([tmp_path])) == ["a/report1.sqlite", "b/report1.sqlite"]


def test_a_capture_that_never_became_a_report_is_named(tmp_path: Path) -> None:
    export(tmp_path / "rank0.sqlite")
    file(tmp_path / "rank1.qdstrm", bytes(1024))
    export(tmp_path / "rank2.sqlite")
    file(tmp_path / "rank2.qdstrm", bytes(1024))
    found = find_inputs([tmp_path])
    assert files(found) == ["rank0.sqlite", "rank2.sqlite"]
    (failure,) = found.failures
    assert (failure.file, failure.stage) == ("rank1.qdstrm", "find")
    assert "import did not finish" in failure.message
    assert failure.hint is not None
    assert "same or a newer nsys" in failure.hint


def test_only_a_lost_capture_is_not_nothing(tmp_path: Path) -> None:
    file(tmp_path / "rank1.qdstrm", bytes(10))
    for run in (tmp_path, tmp_path / "rank1.qdstrm"):
        found = find_inputs([run])
        assert (found.inputs, [failure.file for failure in found.failures]) == (
            (),
            ["rank1.qdstrm"],
        )


def test_nothing_found_says_what_was_looked_for(tmp_path: Path) -> None:
    with pytest.raises(NothingUsableError, match=r"\.nsys-rep, \.sqlite and parquetdir"):
        find_inputs([tmp_path])
    file(tmp_path / "x.arrows")
    with pytest.raises(NothingUsableError, match=r"x\.arrows"):
        find_inputs([tmp_path])


def test_a_run_that_does_not_exist_is_a_usage_error(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("nowhere")
    for name, words in (("none", "does not exist"), ("link", "link to nothing")):
        with pytest.raises(UsageError, match=words):
            find_inputs([tmp_path / name])
    with pytest.raises(UsageError):
        find_inputs([])


def test_names_and_folder_of_the_found_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = tmp_path / "my run"
    path = export(run / "deep" / "rank0.sqlite")
    other = export(run / "rank1.sqlite")
    table = parquetdir(run / "p_pqtdir")
    whole = find_inputs([run])
    assert (whole.name, whole.root, whole.folder) == ("my run", run, run)
    single = find_inputs([path])
    assert (single.name, files(single), single.folder) == ("rank0", ["rank0.sqlite"], None)
    pair = find_inputs([path, other])
    assert (pair.name, files(pair), pair.folder) == (
        "my run",
        ["deep/rank0.sqlite", "rank1.sqlite"],
        None,
    )
    folder = find_inputs([table])
    assert (folder.name, files(folder), folder.folder) == ("p", ["p_pqtdir"], None)
    monkeypatch.chdir(run)
    assert (find_inputs([Path()]).name, find_inputs([Path()]).folder) == ("my run", run)


def test_overlapping_runs_count_once(tmp_path: Path) -> None:
    path = export(tmp_path / "run" / "a.sqlite")
    export(tmp_path / "run2" / "a.sqlite")
    found = find_inputs([tmp_path / "run", path, tmp_path / "run2"])
    assert files(found) == ["run/a.sqlite", "run2/a.sqlite"]


def test_a_file_that_is_no_trace_is_named(tmp_path: Path) -> None:
    export(tmp_path / "rank0.sqlite")
    odd = export(tmp_path / "odd.bin")
    text = file(tmp_path / "notes.txt", b"words")
    found = find_inputs([tmp_path / "rank0.sqlite", odd, text])
    assert files(found) == ["odd.bin", "rank0.sqlite"]
    assert [failure.file for failure in found.failures] == ["notes.txt"]


def test_nothing_in_the_run_changes(tmp_path: Path) -> None:
    wal = export(tmp_path / "wal.sqlite", "x.nsys-rep")
    connection = sqlite3.connect(wal)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.close()
    export(tmp_path / "y.db", "x.nsys-rep")
    file(tmp_path / "z.nsys-rep")
    parquetdir(tmp_path / "p", "z.nsys-rep")
    before = tree(tmp_path)
    find_inputs([tmp_path])
    assert tree(tmp_path) == before


def test_the_order_of_arguments_does_not_matter(tmp_path: Path) -> None:
    paths = [export(tmp_path / f"r{number}.sqlite") for number in (3, 10, 1)]
    assert find_inputs(paths).inputs == find_inputs(paths[::-1]).inputs


@pytest.mark.parametrize(
    ("name", "stem"),
    [
        ("a/b.sqlite", "b"),
        ("b.sqlite.gz", "b"),
        ("w_4242.5.nsys-rep.zst", "w_4242.5"),
        ("x_pqtdir", "x"),
        ("x_pqtdir.tar.gz", "x"),
        ("r.qdstrm", "r"),
        ("plain", "plain"),
    ],
)
def test_trace_stem(name: str, stem: str) -> None:
    assert trace_stem(name) == stem
