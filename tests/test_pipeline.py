"""What lies under DIR: parts that equal the whole, reuse, shards, and a folder that stays clean."""

from __future__ import annotations

import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from nsysflow import executor
from nsysflow.model import STORE_FORMAT
from tests.support.command import in_process, read_json, report
from tests.support.export import Export, busy_export, ms, us

SHOWN = ("*.html", "*.json")


def stepped() -> Export:
    export = Export()
    for step in range(4):
        begin = ms(10 * step + 1)
        export.nvtx(f"step {step}", begin, begin + ms(10))
        export.kernel("gemm", begin + ms(1), begin + ms(8), launch=(begin, begin + us(5)))
    return export


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """Three good ranks."""
    for rank in range(3):
        stepped().write_sqlite(tmp_path / "run" / f"rank{rank}.sqlite")
    return tmp_path / "run"


def shown(folder: Path) -> dict[str, bytes]:
    """What a reader gets: every page and document of an output folder."""
    return {
        path.name: path.read_bytes() for pattern in SHOWN for path in sorted(folder.glob(pattern))
    }


def test_parts_equal_the_whole_whatever_the_jobs(run: Path, tmp_path: Path) -> None:
    whole = report(run, tmp_path / "whole", jobs=1)
    assert whole.ended.code == 0
    assert in_process("convert", run, "-o", tmp_path / "parts", "--jobs", 2).code == 0
    assert in_process("analyse", tmp_path / "parts", "--jobs", 2).code == 0
    assert in_process("render", tmp_path / "parts", "--jobs", 2).code == 0
    assert shown(tmp_path / "parts") == shown(tmp_path / "whole")
    assert len(shown(tmp_path / "whole")) == 8


def test_each_part_reads_only_what_the_former_wrote(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (run / "nsysflow.toml").write_text("step_range = 'step'\n")
    assert report(run, out).ended.code == 0
    before = shown(out)
    shutil.rmtree(run)
    assert in_process("analyse", out, "--jobs", 1).code == 0
    assert shown(out) == before
    shutil.rmtree(out / "store")
    for page in out.glob("*.html"):
        page.unlink()
    assert in_process("render", out, "--jobs", 1).code == 0
    assert shown(out) == before
    assert not (out / "store").exists()


def test_settings_of_convert_hold_for_analyse(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert (
        in_process("convert", run, "-o", out, "--step-range", "step [0-2]", "--jobs", 1).code == 0
    )
    assert in_process("analyse", out, "--jobs", 1).code == 0
    steps = read_json(out / "rank-0000.json")["steps"]
    assert (steps["source"], len(steps["items"])) == ("user", 3)
    assert in_process("analyse", out, "--step-range", "^step", "--jobs", 1).code == 0
    assert len(read_json(out / "rank-0000.json")["steps"]["items"]) == 4


def test_shards_give_the_same(run: Path, tmp_path: Path) -> None:
    report(run, tmp_path / "whole")
    out = tmp_path / "out"
    # An array that counts from 0, one shard of which never ran.
    assert in_process("convert", run, "-o", out, "--shard", "0/3").code == 0
    assert in_process("convert", run, "-o", out, "--shard", "1/3").code == 0
    ended = in_process("analyse", out, "--jobs", 1)
    assert ended.code == 3
    assert len(ended.failures) == 1
    assert "rank1.sqlite: its shard was not converted" in ended.err
    assert in_process("convert", run, "-o", out, "--shard", "2/3").code == 0
    for part in ("1/2", "2/2"):
        assert in_process("analyse", out, "--shard", part).code == 0
    assert in_process("analyse", out, "--jobs", 1).code == 0
    assert in_process("render", out, "--jobs", 1).code == 0
    assert shown(out) == shown(tmp_path / "whole")


def kept(out: Path) -> list[str]:
    lines = (out / "nsysflow.log").read_text().splitlines()
    return [line.split(" detail ")[1] for line in lines if line.endswith((": kept", ": made"))]


def test_only_what_changed_is_done_again(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report(run, out)
    first = shown(out)
    (out / "nsysflow.log").unlink()
    report(run, out)
    assert shown(out) == first
    assert {line.split(": ")[1] for line in kept(out)} == {"kept"}
    # One rank recorded anew: its conversion and its document, no other.
    (out / "nsysflow.log").unlink()
    busy_export().write_sqlite(run / "rank1.sqlite")
    report(run, out)
    assert sorted(line.split(": ")[1] for line in kept(out)) == ["kept"] * 4 + ["made"] * 2
    again = shown(out)
    assert {name for name in first if first[name] != again[name]} == {
        "index.html", "result.json", "rank-0001.html", "rank-0001.json",
    }  # fmt: skip
    # Another question: documents, no conversion.
    (out / "nsysflow.log").unlink()
    report(run, out, "--step-range", "^step")
    assert sorted(kept(out)) == [
        *(f"analyse {number}/3: made" for number in (1, 2, 3)),
        *(f"convert {number}/3: kept" for number in (1, 2, 3)),
    ]


def test_what_is_done_starts_no_process(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, started = tmp_path / "out", []
    usual = executor.ProcessPoolExecutor

    def starting(*arguments: Any, **named: Any) -> Any:
        started.append(arguments)
        return usual(*arguments, **named)

    monkeypatch.setattr(executor, "ProcessPoolExecutor", starting)
    assert in_process("report", run, "-o", out, "--jobs", 2).code == 0
    # One set of workers converts, analyses and draws.
    assert len(started) == 1
    before = shown(out)
    assert in_process("convert", run, "-o", out, "--jobs", 2).code == 0
    assert in_process("analyse", out, "--jobs", 2).code == 0
    assert len(started) == 1
    (run / "rank1.sqlite").unlink()
    stepped().write_sqlite(run / "rank3.sqlite")
    assert in_process("convert", run, "-o", out, "--jobs", 2).code == 0
    # What is left is one call, which needs none either.
    assert len(started) == 1
    assert shown(out) == before


def test_a_document_that_was_touched_is_made_again(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report(run, out)
    before = shown(out)
    (out / "rank-0002.json").write_text("{}")
    report(run, out)
    assert shown(out) == before


def test_pages_of_ranks_that_are_gone_go(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report(run, out)
    (run / "rank2.sqlite").unlink()
    (out / "notes.txt").write_text("a person's own")
    report(run, out)
    assert {path.name for path in out.glob("rank-*")} == {
        f"rank-000{rank}.{form}" for rank in (0, 1) for form in ("html", "json")
    }
    assert len([path for path in (out / "store").iterdir() if "rank" in path.name]) == 2
    assert (out / "notes.txt").exists()


def test_nothing_usable_leaves_no_report(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report(run, out)
    for rank in range(3):
        (run / f"rank{rank}.sqlite").write_bytes(b"")
    ended = report(run, out).ended
    assert ended.code == 4
    assert len(ended.failures) == 4
    assert shown(out) == {}
    assert not list((out / "store").glob("*/op.parquet"))


def test_scratch_of_a_killed_run_goes(run: Path, tmp_path: Path) -> None:
    """Also where it was killed outright; what another process still works in stays."""
    out = tmp_path / "out"
    assert report(run, out, jobs=1).ended.code == 0
    here = socket.gethostname()
    # No process has a number above the kernel's limit.
    killed, running, elsewhere = (
        out / f".tmp.{name}" for name in (f"{here}-4194305", f"{here}-{os.getppid()}", "node9-12")
    )
    for folder in (killed, running, elsewhere):
        folder.mkdir()
        (folder / "part").write_bytes(b"x")
    assert report(run, out, jobs=1).ended.code == 0
    assert sorted(out.glob(".tmp*")) == sorted([running, elsewhere])


def test_where_it_goes_unless_told(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = in_process("convert", run, "--jobs", 1)
    assert ended.out == f"{run}/nsysflow-report\n"
    assert (run / "nsysflow-report" / ".nsysflow").is_file()
    # Its own output is no input of the next time.
    assert in_process("report", run, "--jobs", 1).code == 0
    away = tmp_path / "away"
    away.mkdir()
    monkeypatch.chdir(away)
    done = in_process("convert", run / "rank0.sqlite", "--jobs", 1)
    assert done.out == f"{away}/nsysflow-report-rank0\n"


def test_folders_that_are_not_ours_stay(run: Path, tmp_path: Path) -> None:
    foreign = tmp_path / "foreign"
    foreign.mkdir()
    (foreign / "thesis.tex").write_text("years of work")
    for target in (foreign, run, run / "rank0.sqlite"):
        ended = in_process("report", run, "-o", target)
        assert ended.code == 2
        assert len(ended.failures) == 1
    assert [path.name for path in foreign.iterdir()] == ["thesis.tex"]


def test_stores_of_other_formats(run: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    report(run, out)
    before = shown(out)
    (out / "store" / "FORMAT").write_text(f"{STORE_FORMAT + 1}\n")
    for command in (("report", run, "-o"), ("analyse",), ("sql",)):
        ended = in_process(*command, out)
        assert (ended.code, len(ended.failures)) == (2, 1)
        assert f"format {STORE_FORMAT + 1}" in ended.err
    (out / "store" / "FORMAT").write_text(f"{STORE_FORMAT - 1}\n")
    (out / "store" / "left-over").touch()
    assert in_process("analyse", out, "--jobs", 1).code == 2
    assert report(run, out).ended.code == 0
    assert shown(out) == before
    assert not (out / "store" / "left-over").exists()
    assert "NOT MASKED" in (out / "store" / "README").read_text()


def test_a_window_outside_the_capture(run: Path, tmp_path: Path) -> None:
    ended = in_process("report", run, "-o", tmp_path / "out", "--from", 100, "--to", 101)
    assert ended.code == 2
    assert "0.0" in ended.failures[-1]
    assert "between --from 100 and --to 101 s" in ended.failures[-1]
    # A bound that nobody gave is not named.
    ended = in_process("report", run, "-o", tmp_path / "out", "--from", 100)
    assert "no device work after --from 100 s;" in ended.failures[-1]
    ended = in_process("report", run, "-o", tmp_path / "out", "--to", -100)
    assert "no device work before --to -100 s;" in ended.failures[-1]


def test_a_window_without_work(tmp_path: Path) -> None:
    export = stepped()
    export.write_sqlite(tmp_path / "run" / "rank0.sqlite")
    # Step 1 begins with a millisecond in which its kernel is waited for.
    ended = in_process(
        "report", tmp_path / "run", "-o", tmp_path / "out", "--from", 0.0111, "--to", 0.0115
    )
    assert (ended.code, ended.failures[-1]) == (
        2,
        "nsysflow: the lane is idle all the time between --from and --to;"
        " device work runs from 0.002000 to 0.039000 s",
    )


def test_a_rank_map_that_names_no_file(run: Path, tmp_path: Path) -> None:
    (tmp_path / "map").write_text("nope.sqlite 3\n")
    ended = in_process("report", run, "-o", tmp_path / "out", "--rank-map", tmp_path / "map")
    assert (ended.code, len(ended.failures)) == (2, 1)
    assert "nope.sqlite" in ended.err


def test_dask_gives_the_same(run: Path, tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is an extra")
    report(run, tmp_path / "whole")
    (run / "rank9.sqlite").write_bytes(b"")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        scheduler = cluster.scheduler_address
        ended = in_process("report", run, "-o", tmp_path / "out", "--scheduler", scheduler)
    assert (ended.code, len(ended.failures)) == (3, 1)
    same = {name: text for name, text in shown(tmp_path / "out").items() if "rank-" in name}
    assert same == {n: text for n, text in shown(tmp_path / "whole").items() if "rank-" in n}
