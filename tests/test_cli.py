"""The command line as a user and a script meet it: words, exit codes, streams, quiet endings."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import pytest

from nsysflow import front
from nsysflow.commands import group
from nsysflow.console import Console
from tests.support.command import as_process, in_process
from tests.support.export import busy_export

HEAVY = ["duckdb", "pyarrow", "polars", "jinja2", "numpy", "adbc_driver_sqlite", "distributed"]


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A run of two good ranks."""
    for rank in (0, 1):
        busy_export().write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    return tmp_path / "run"


def test_help_lists_every_command() -> None:
    listed = {line.split()[0] for line in front.HELP.splitlines() if line.startswith("  ")}
    assert {name for name in listed if name.islower() and name[0] != "-"} == set(group.commands)


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["--debug", "--help"]])
def test_help_is_one_text(arguments: list[str]) -> None:
    ended = as_process(*arguments)
    assert (ended.code, ended.out, ended.err) == (0, front.HELP, "")


@pytest.mark.parametrize("arguments", [["--version"], ["--quiet", "--version"]])
def test_versions(arguments: list[str]) -> None:
    import duckdb

    from nsysflow import __version__, model

    lines = as_process(*arguments).out.splitlines()
    assert lines == [
        f"nsysflow {__version__}",
        f"store {model.STORE_FORMAT}",
        f"schema {model.SCHEMA}",
        f"duckdb {duckdb.__version__}",
    ]


@pytest.mark.parametrize(
    "arguments", [["--help"], ["--version"], *([name, "--help"] for name in group.commands)]
)
def test_help_imports_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys, atexit\n"
        f"found = lambda: sorted(set(sys.modules) & set({HEAVY!r}))\n"
        "atexit.register(lambda: print(found(), file=sys.stderr))\n"
        f"from nsysflow.cli import main\nmain({arguments!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr == "[]\n"


def test_help_of_commands_is_as_agreed(
    golden: Callable[[Path, str], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    texts = [in_process(name, "--help").out.rstrip("\n") + "\n" for name in sorted(group.commands)]
    path = Path(__file__).parent.parent / "fixtures" / "golden" / "help.txt"
    golden(path, "\n".join([front.HELP, *texts]))


@pytest.mark.parametrize(
    ("arguments", "names"),
    [
        ([], "no COMMAND was given; see nsysflow --help\n"),
        (["nope"], "nope"),
        (["report"], "RUN"),
        (["report", "--nope", "x"], "--nope"),
        (["report", "does-not-exist"], "does-not-exist"),
        (["report", ".", "--jobs", "0"], "--jobs"),
        (["report", ".", "--memory-limit", "lots"], "lots"),
        (["report", ".", "--step-range", "("], "step-range"),
        (["convert", ".", "--shard", "3/2"], "'3/2' is not I/N with I from 0 to N"),
        (["convert", ".", "--shard", "1/0"], "1/0"),
        (["analyse", "."], "nsysflow convert"),
        (["render", "."], "nsysflow analyse"),
        (["analyses", "no_such"], "no_such"),
        (["report", ".", "--config", "none.toml"], "none.toml"),
        (["report", ".", "--from", "2", "--to", "1"], "window"),
        (["report", ".", "--nsys", "no-such-nsys"], "--nsys no-such-nsys"),
        (["convert", ".", "--nsys", "."], "no program that can be run"),
    ],
)
def test_a_wrong_command_line_is_one_line_and_2(
    arguments: list[str], names: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    busy_export().write_sqlite(tmp_path / "rank0.sqlite")
    ended = in_process(*arguments)
    assert ended.code == 2
    assert len(ended.failures) == 1, ended.err
    assert names in ended.err
    assert [path.name for path in tmp_path.iterdir()] == ["rank0.sqlite"]


def test_nothing_there_is_4(tmp_path: Path) -> None:
    ended = in_process("report", tmp_path)
    assert ended.code == 4
    assert len(ended.failures) == 1
    assert list(tmp_path.iterdir()) == []


def test_a_closed_stdout_ends_quietly(run: Path, tmp_path: Path) -> None:
    assert in_process("report", run, "-o", tmp_path / "out", "--jobs", 1).code == 0
    query = "SELECT o.* FROM op AS o, range(200000)"
    command = [sys.executable, "-m", "nsysflow", "sql", tmp_path / "out", query, "--format", "csv"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith("trace,")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait(60) == 0


def with_streams(*arguments: str, **streams: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "nsysflow", *arguments]
    return subprocess.run(command, text=True, check=False, **streams)


@pytest.fixture
def full() -> Iterator[IO[str]]:
    """A stream that cannot be written."""
    device = Path("/dev/full")
    if not device.exists():
        pytest.skip("no /dev/full here")
    with device.open("w") as stream:
        yield stream


@pytest.mark.parametrize("arguments", [["--help"], ["analyses", "--help"], ["analyses"]])
def test_a_stdout_that_cannot_be_written_is_named(arguments: list[str], full: IO[str]) -> None:
    done = with_streams(*arguments, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 2
    assert done.stderr == (
        "nsysflow: standard output cannot be written: no space left on device; send it elsewhere\n"
    )


def test_a_stderr_that_cannot_be_written_changes_no_exit_code(full: IO[str]) -> None:
    assert with_streams("analyses", "no_such", stderr=full).returncode == 2


@pytest.mark.parametrize("arguments", [["--help"], ["analyses", "--help"]])
def test_help_that_nobody_reads_ends_quietly(arguments: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    done = with_streams(*arguments, stdout=writing, stderr=subprocess.PIPE)
    os.close(writing)
    assert (done.returncode, done.stderr) == (0, "")


def test_colour_only_where_it_is_wanted(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert "\x1b[" not in in_process("report", run, "-o", out, "--jobs", 1).out
    assert "\x1b[" in in_process("report", run, "-o", out, "--jobs", 1, "--color").out
    assert "\x1b[" in in_process("--color", "report", run, "-o", out, "--jobs", 1).out
    ended = in_process("report", run, "-o", out, "--jobs", 1, "--color", "--no-color")
    assert "\x1b[" not in ended.out


def test_what_report_prints(run: Path, tmp_path: Path) -> None:
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1)
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].split() == ["label", "file", "process", "host", "GPU", "rank", "found", "by"]
    assert lines[1].split()[:3] == ["0000", "rank0.sqlite", "100"]
    assert lines[2].split()[-2:] == ["1", "filename"]
    assert lines[-1] == str(tmp_path / "out" / "index.html")


def test_markdown(run: Path, tmp_path: Path) -> None:
    (run / "broken|<b>.sqlite").write_bytes(b"")
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1, "--markdown", "-")
    assert ended.code == 3
    assert ended.out.startswith("# run\n\n| label | file |")
    assert "| 0001 | rank1.sqlite | 100 |" in ended.out
    assert "broken\\|&lt;b&gt;.sqlite | failed |" in ended.out
    target = tmp_path / "summary.md"
    in_process("report", run, "-o", tmp_path / "out", "--jobs", 1, "--markdown", target)
    assert target.read_text("utf-8") == ended.out


def test_a_fault_on_one_input_is_one_line(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nsysflow import convert

    real = convert.convert_trace

    def sometimes(found: object, *rest: object) -> object:
        if getattr(found, "file", "") == "rank1.sqlite":
            raise KeyError("surprise")
        return real(found, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(convert, "convert_trace", sometimes)
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1)
    assert ended.code == 3
    assert len(ended.failures) == 1
    assert "rank1.sqlite: nsysflow fault: KeyError: 'surprise'" in ended.err
    assert (tmp_path / "out" / "rank-0000.html").exists()
    assert "missing ranks: 1" in ended.out
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1, "--debug")
    assert "Traceback" in ended.err


def test_a_fault_of_the_command_is_1(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from nsysflow import pipeline

    def surprise(*_: object) -> None:
        raise RuntimeError("surprise\nsecond line")

    monkeypatch.setattr(pipeline, "draw", surprise)
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1)
    assert ended.code == 1
    assert ended.failures == [
        "nsysflow fault: RuntimeError: surprise second line; rerun with --debug"
    ]
    ended = in_process("report", run, "-o", tmp_path / "out", "--jobs", 1, "--debug")
    assert "Traceback" in ended.err


@pytest.mark.parametrize(
    ("jobs", "number"),
    [(1, signal.SIGINT), (2, signal.SIGINT), (1, signal.SIGTERM), (2, signal.SIGTERM)],
)
def test_an_interrupt_is_130_and_keeps_what_was_done(
    run: Path, tmp_path: Path, jobs: int, number: signal.Signals
) -> None:
    # rank2 hangs in nsys; by then, or beside it, the others are converted.
    (run / "rank2.nsys-rep").write_bytes(b"a report")
    marker = tmp_path / "nsys-runs"
    nsys = tmp_path / "nsys"
    nsys.write_text(f'#!/bin/sh\ncase "$*" in *-o*) echo $$ > "{marker}"; sleep 99;; esac\n')
    nsys.chmod(0o755)
    command = ["report", run, "-o", tmp_path / "out", "--jobs", jobs, "--nsys", nsys]
    process = subprocess.Popen(
        [sys.executable, "-m", "nsysflow", *map(str, command)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    store = tmp_path / "out" / "store"
    try:
        until = time.monotonic() + 60
        while not marker.exists() or len(converted(store)) < 2:
            assert time.monotonic() < until
            assert process.poll() is None, process.communicate()
            time.sleep(0.05)
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, out) == (130, "")
    assert err.splitlines() == [
        "nsysflow: interrupted; what was done stays, the same command goes on there"
    ]
    assert not Path(f"/proc/{marker.read_text().strip()}").exists()
    assert len(converted(store)) == 2
    assert not list((tmp_path / "out").glob(".tmp*"))


def converted(store: Path) -> list[Path]:
    """The traces that stand whole; one that is being written has another name until then."""
    return [p for p in store.glob("*/capture.json") if not p.parent.name.startswith(".")]


@pytest.mark.parametrize("closed", [">&-", "2>&-", ">&- 2>&-"])
@pytest.mark.parametrize("arguments", ["report", "sql", "--help", "doctor"])
def test_a_stream_that_the_caller_closed_is_no_fault(
    run: Path, closed: str, arguments: str
) -> None:
    operands = {"--help": [], "sql": [str(run), "SELECT 1"]}.get(arguments, [str(run)])
    command = shlex.join([sys.executable, "-m", "nsysflow", arguments, *operands])
    ended = subprocess.run(
        ["sh", "-c", f"{command} {closed}"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0
    assert "fault" not in ended.stderr


@pytest.mark.parametrize("command", ["analyse", "render"])
def test_the_run_folder_in_place_of_its_output_is_told_where_that_is(
    run: Path, command: str
) -> None:
    assert in_process("report", run).code == 0
    ended = in_process(command, run)
    assert (ended.code, len(ended.failures)) == (2, 1)
    assert f"name {run / 'nsysflow-report'}" in ended.err


def test_a_store_that_is_gone_is_not_a_matter_of_permissions(run: Path) -> None:
    assert in_process("report", run).code == 0
    shutil.rmtree(run / "nsysflow-report" / "store")
    ended = in_process("analyse", run / "nsysflow-report")
    assert (ended.code, len(ended.failures)) == (2, 1)
    assert "is gone; run nsysflow convert RUN first" in ended.err


@pytest.mark.parametrize(("name", "said"), [
    (b"r\xc3\xa9", "the locale here is not UTF-8"),
    (b"r\xff", "holds bytes that are no UTF-8"),
])  # fmt: skip
def test_a_name_that_only_the_locale_does_not_take_is_not_called_broken(
    run: Path, name: bytes, said: str
) -> None:
    out = os.fsencode(run.parent) + b"/" + name
    ended = subprocess.run(
        [sys.executable, "-m", "nsysflow", "report", str(run), "-o", out],
        env=os.environ | {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert said in ended.stderr
    assert ("PYTHONUTF8=1" in ended.stderr) == (name == b"r\xc3\xa9")


def test_a_guess_at_what_was_meant_ends_as_the_question_it_is() -> None:
    ended = in_process("reprot")
    assert ended.failures == [
        "nsysflow: No such command 'reprot'. Did you mean 'report'? See nsysflow --help"
    ]


@pytest.mark.parametrize("name", ["a\\b", os.fsdecode(b"a\xff")])
def test_a_folder_that_no_store_can_be_written_to_is_refused_before_any_work(
    run: Path, name: str
) -> None:
    moved = run.rename(run.parent / name)
    ended = in_process("report", moved)
    assert (ended.code, len(ended.failures)) == (2, 1)
    assert "choose another with -o DIR" in ended.err
    assert not (moved / "nsysflow-report").exists()
    assert in_process("report", moved, "-o", run.parent / "out").code == 0


def test_python_m_and_stdin_are_not_needed() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "nsysflow", "analyses"],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "NO_COLOR": "1"},
    )
    assert "overlap" in done.stdout


def test_an_analysis_explains_itself() -> None:
    from nsysflow.analyses import ANALYSES
    from nsysflow.findings import QUESTIONS

    listed = in_process("analyses").out
    for analysis in ANALYSES:
        assert analysis.name in listed
        told = in_process("analyses", analysis.name).out
        for part in (analysis.question, analysis.why, analysis.do, analysis.misleads):
            assert part in told
        # What a card of it would say, in the same words.
        for question in (each for each in QUESTIONS if analysis.name in each.needs):
            assert question.claim in told
            assert all(f"{title}: {text}" in told for title, text in question.parts())


def test_every_question_is_told_under_some_analysis() -> None:
    from nsysflow.analyses import ANALYSES
    from nsysflow.findings import QUESTIONS

    names = {analysis.name for analysis in ANALYSES}
    alone = {question.id for question in QUESTIONS if not names & set(question.needs)}
    measurement = {question.id for question in QUESTIONS if question.category == "measurement"}
    assert alone <= measurement


def test_doctor(run: Path) -> None:
    ended = in_process("doctor")
    assert ended.code == 0
    said = ended.out.splitlines()[-1]
    assert "nsys profile --trace=cuda,nvtx,osrt,nccl --pytorch=autograd-nvtx " in said
    assert said.endswith("--output=run/rank%q{RANK} python train.py")
    (run / "rank2.sqlite").write_bytes(b"nothing")
    ended = in_process("doctor", run / "nope")
    assert (ended.code, ended.out) == (2, "")
    assert "does not exist" in ended.err
    ended = in_process("doctor", run)
    assert ended.code == 3
    lines = {line.split(":")[0]: line for line in (ended.out + ended.err).splitlines()}
    assert "has GPU kernels, CUDA calls" in lines["rank0.sqlite"]
    assert "lacks GPU copies" in lines["rank0.sqlite"]
    assert "NVTX ranges (steps, phases, operators; --trace=nvtx)" in lines["rank1.sqlite"]
    assert len(ended.failures) == 1
    assert "rank2.sqlite" in ended.failures[0]


def test_top_findings_name_what_they_may_save_and_where() -> None:
    from nsysflow import summary

    row = {"label": "0000", "file": "a", "pid": 1, "host": None, "device": 0, "gpu_name": None,
           "rank": 0, "rank_source": "env", "top_finding": "Waits",
           "steps_source": "none"}  # fmt: skip
    run = {"conflicts": [], "missing_ranks": None, "several_jobs": None, "notes": ["odd\x1b[31m"]}
    result = {"ranks": [row, {**row, "label": "0001"}], "run": run, "findings": []}
    lines = summary.terminal(result, str).splitlines()
    assert lines[-1] == "1. Waits [0000, 0001]"
    assert "odd\\x1b[31m" in lines
    finding = {
        "status": "opportunity",
        "title": "Idle",
        "bound_ns_per_step": 2_500_000,
        "ranks": [3],
    }
    result["findings"] = [{**finding, "status": "ok"}, finding]
    # Without steps a bound is of the whole capture.
    last = summary.terminal(result, str).splitlines()[-1]
    assert last == "1. Idle (at most 2.5 ms in the capture) [3]"
    row["chosen"] = True
    last = summary.terminal(result, str).splitlines()[-1]
    assert last == "1. Idle (at most 2.5 ms in the chosen time) [3]"
    row["steps_source"] = "nvtx_step"
    assert summary.terminal(result, str).splitlines()[-1] == "1. Idle (at most 2.5 ms per step) [3]"


def test_a_failure_is_told_where_the_log_went_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "out"
    folder.mkdir()
    console = Console()
    console.start_log(folder / "nsysflow.log")
    console.note("begun")
    shutil.rmtree(folder)
    console.fail("rank0.sqlite: cannot be read")
    assert capsys.readouterr().err.splitlines()[-1] == "rank0.sqlite: cannot be read"
