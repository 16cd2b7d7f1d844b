"""nsys on other people's machines: found or not, old, failing, lying, hanging."""

from __future__ import annotations

import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest

from nsysflow import nsys
from nsysflow.errors import InputError, UsageError

BOOST = """\
Importer error status: Importation failed.
/build/agent/QuadD/Common.cpp(142): Throw in function void Importer::run()
Dynamic exception type: boost::wrapexcept<QuadDCommon::RuntimeException>
[QuadDCommon::tag_message*] = Wrong event order has been detected when adding events
"""
PREAMBLE = """\
import pathlib, shutil, sqlite3, sys, time
args = sys.argv[1:]
if args == ["--version"]:
    print("NVIDIA Nsight Systems version {version}-245934355v0")
    sys.exit()
if "--help" in args:
    print("""
Fake = Callable[..., Path]


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / "run" / "rank 1.nsys-rep"
    path.parent.mkdir()
    path.write_bytes(b"not a real report")
    return path


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fake:
    """Return a function that puts a fake nsys, with this export body, alone on PATH."""
    monkeypatch.delenv("NSYSFLOW_NSYS", raising=False)
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))

    def make(body: str, help_text: str = "", version: str = "2024.6.2.225") -> Path:
        program = folder / "nsys"
        program.write_text(
            f"#!{sys.executable}\n"
            + PREAMBLE.format(version=version).rstrip("\n")
            + f"{help_text!r})\n    sys.exit()\n"
            + "pathlib.Path(__file__).with_name('asked').write_text('\\n'.join(args))\n"
            + "target = pathlib.Path(args[args.index('-o') + 1])\n"
            + body
        )
        program.chmod(0o755)
        return program

    return make


def asked(program: Path) -> list[str]:
    return program.with_name("asked").read_text().split("\n")


SQLITE = """
db = sqlite3.connect(target)
db.execute("CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT)")
db.execute("INSERT INTO META_DATA_EXPORT VALUES ('EXPORT_SCHEMA_VERSION', '3.16.1')")
db.commit()
"""


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    """One table of a parquetdir, for a fake to copy."""
    path = tmp_path / "META_DATA_EXPORT.parquet"
    duckdb.execute(f"COPY (SELECT 'EXPORT_SCHEMA_VERSION' AS name, '3.25.0' AS value) TO '{path}'")
    return path


@pytest.mark.parametrize("suffix", ["", "_pqtdir"])
def test_parquetdir_where_nsys_offers_it(
    fake: Fake, report: Path, parquet: Path, tmp_path: Path, suffix: str
) -> None:
    program = fake(
        f"folder = pathlib.Path(str(target) + {suffix!r})\nfolder.mkdir()\n"
        f"shutil.copy({str(parquet)!r}, folder)\n",
        help_text="-t, --type sqlite parquetdir --include-json",
    )
    made = nsys.export(report, tmp_path / "out")
    assert made == tmp_path / "out" / "rank 1_pqtdir"
    assert pq.read_table(made / "META_DATA_EXPORT.parquet").num_rows == 1
    arguments = asked(program)
    assert arguments[:3] == ["export", "-t", "parquetdir"]
    assert arguments[arguments.index("-f") + 1] == "true"
    assert arguments[arguments.index("--include-json") + 1] == "true"
    assert arguments[-1] == str(report)
    assert [path.name for path in (tmp_path / "out").iterdir()] == [made.name]
    assert sorted(path.name for path in report.parent.iterdir()) == [report.name]


def test_sqlite_where_nsys_is_older(fake: Fake, report: Path, tmp_path: Path) -> None:
    program = fake(SQLITE, help_text="-t, --type sqlite hdf json")
    made = nsys.export(report, tmp_path / "out")
    assert made == tmp_path / "out" / "rank 1.sqlite"
    assert asked(program)[2] == "sqlite"
    assert "--include-json" not in asked(program)


def test_again_replaces_what_was_there(fake: Fake, report: Path, tmp_path: Path) -> None:
    fake(SQLITE)
    first = nsys.export(report, tmp_path / "out")
    first.write_bytes(b"")
    assert nsys.export(report, tmp_path / "out").stat().st_size > 0


def failure(report: Path, out: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        nsys.export(report, out)
    assert "\n" not in str(caught.value)
    assert report.name in caught.value.message
    assert not list(out.iterdir()), "a failed export left something behind"
    return caught.value


def test_its_own_words_are_kept_in_one_line(fake: Fake, report: Path, tmp_path: Path) -> None:
    fake(f"sys.stderr.write({BOOST!r})\nsys.exit(1)\n", version="2023.1.2.43")
    error = failure(report, tmp_path / "out")
    assert error.stage == "export"
    assert "Wrong event order has been detected" in error.message
    assert "nsys 2023.1.2.43" in error.message
    assert "newer" in str(error.hint)


def test_success_without_output(fake: Fake, report: Path, tmp_path: Path) -> None:
    fake("print('usage: nsys export [<args>] report')\n")
    error = failure(report, tmp_path / "out")
    assert "nothing written" in error.message
    assert "usage: nsys export" in error.message


@pytest.mark.parametrize("body", ["target.write_bytes(b'')\n", "target.write_bytes(bytes(999))\n"])
def test_output_that_is_no_export(fake: Fake, report: Path, tmp_path: Path, body: str) -> None:
    fake(body)
    error = failure(report, tmp_path / "out")
    assert error.stage == "verify"
    assert "META_DATA_EXPORT" in error.message


def test_parquetdir_without_metadata(fake: Fake, report: Path, tmp_path: Path) -> None:
    fake("target.mkdir()\n", help_text="parquetdir")
    assert failure(report, tmp_path / "out").stage == "verify"


def test_a_hang_ends(
    fake: Fake, report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A helper that outlives nsys holds its output open; it has to go as well.
    fake("import subprocess\nsubprocess.run(['/bin/sleep', '60'])\n")
    monkeypatch.setenv("NSYSFLOW_NSYS_TIMEOUT", "0.5")
    began = time.monotonic()
    assert "stopped" in failure(report, tmp_path / "out").message
    assert time.monotonic() - began < 30


def test_no_nsys_names_the_command_to_run_elsewhere(
    report: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NSYSFLOW_NSYS", raising=False)
    monkeypatch.setattr(nsys, "INSTALLED", ())
    with pytest.raises(InputError) as caught:
        nsys.export(report, tmp_path / "out")
    command = str(caught.value).split("`")[1]
    assert shlex.split(command) == [
        "nsys",
        "export",
        "--type",
        "sqlite",
        "--include-json",
        "true",
        "--output",
        "rank 1.sqlite",
        "rank 1.nsys-rep",
    ]


def test_which_one_is_taken(fake: Fake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    on_path = fake("")
    asked_for = tmp_path / "other-nsys"
    asked_for.write_text("#!/bin/sh\n")
    asked_for.chmod(0o755)
    assert nsys.find() == on_path
    monkeypatch.setenv("NSYSFLOW_NSYS", str(asked_for))
    assert nsys.find() == asked_for
    assert nsys.find(str(on_path)) == on_path
    with pytest.raises(UsageError, match="no-such"):
        nsys.find(str(tmp_path / "no-such"))


def test_the_newest_installed_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("NSYSFLOW_NSYS", raising=False)
    for version in ("2024.10.1", "2024.9.2", "2023.4.4"):
        program = tmp_path / "opt" / version / "bin" / "nsys"
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    found = nsys.find(installed=[f"{tmp_path}/opt/*/bin/nsys"])
    assert found == tmp_path / "opt" / "2024.10.1" / "bin" / "nsys"


def test_version(fake: Fake) -> None:
    assert nsys.version(fake("", version="2025.1.1.131")) == "2025.1.1.131"


def test_one_line_of_what_it_printed() -> None:
    assert nsys.one_line("[1/1] [=====50%   ] a\r[1/1] [====100%] a\n") == "it printed nothing"
    assert nsys.one_line("") == "it printed nothing"
    assert nsys.one_line("fine\nERROR: no\nERROR: no\n") == "ERROR: no"
    assert len(nsys.one_line("error " * 999)) <= 300
