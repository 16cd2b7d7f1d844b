"""The generator's options: seeds, evidence, layouts, sizes, and what it must not know."""

from __future__ import annotations

import ast
import hashlib
import os
import sqlite3
import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from nsysflow.demo import make_run
from nsysflow.demo.plan import EVIDENCE, Plan
from nsysflow.errors import UsageError
from tests.support.command import in_process
from tests.support.demo_rows import tables

ROOT = Path(__file__).parent.parent
TRACES = Path(os.environ.get("NSYSFLOW_TRACES", ROOT.parent / "shared" / "traces"))


def digest(folder: Path) -> dict[str, str]:
    found = {}
    for path in sorted(folder.iterdir()):
        if path.suffix == ".sqlite":
            connection = sqlite3.connect(path)
            text = "\n".join(connection.iterdump())
            connection.close()
        else:
            text = path.read_text(encoding="utf-8")
        found[path.name] = hashlib.sha256(text.encode()).hexdigest()
    return found


def test_the_same_seed_makes_the_same_rows(tmp_path: Path) -> None:
    for name, seed in (("a", 3), ("b", 3), ("c", 4)):
        make_run(tmp_path / name, Plan(ranks=2, steps=3, kernels=600, seed=seed))
    assert digest(tmp_path / "a") == digest(tmp_path / "b")
    other = digest(tmp_path / "c")
    assert all(other[name] != value for name, value in digest(tmp_path / "a").items()
               if name != "nsysflow.toml")  # fmt: skip


@pytest.mark.parametrize("evidence", [(), ("nvtx",), ("osrt", "sync"), EVIDENCE])
def test_evidence_that_was_not_recorded_leaves_no_row(
    tmp_path: Path, evidence: tuple[str, ...]
) -> None:
    chosen = frozenset(evidence)
    make_run(tmp_path / "run", Plan(ranks=2, steps=3, kernels=600, evidence=chosen))
    found = tables(tmp_path / "run" / "rank1.sqlite")
    assert ("NVTX_EVENTS" in found) == ("nvtx" in chosen)
    assert ("OSRT_API" in found) == ("osrt" in chosen)
    assert ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION" in found) == ("sync" in chosen)
    assert ("NVTX_PAYLOAD_SCHEMAS" in found) == (chosen >= {"nvtx", "payload"})
    blobs = [row for row in found.get("NVTX_EVENTS", []) if row["binaryData"]]
    assert bool(blobs) == (chosen >= {"nvtx", "payload"})
    full = tmp_path / "full"
    make_run(full, Plan(ranks=2, steps=3, kernels=600))
    everything = tables(full / "rank1.sqlite")
    times = [(row["start"], row["end"]) for row in found["CUPTI_ACTIVITY_KIND_KERNEL"]]
    assert times == [(row["start"], row["end"]) for row in everything["CUPTI_ACTIVITY_KIND_KERNEL"]]


@pytest.mark.parametrize("ranges", ["profiler", "optimizer", "none"])
def test_other_names_of_steps_keep_the_windows(tmp_path: Path, ranges: str) -> None:
    plans = {name: Plan(ranks=2, steps=4, kernels=800, step_ranges=name)
             for name in (ranges, "numbered")}  # fmt: skip
    edges = [
        [(s["start_ns"], s["end_ns"]) for s in make_run(tmp_path / name, plan)["ranks"][1]["steps"]]
        for name, plan in plans.items()
    ]
    assert edges[0][1:] == edges[1][1:]
    found = tables(tmp_path / ranges / "rank0.sqlite")["NVTX_EVENTS"]
    named = [row["text"] or "" for row in found]
    assert sum(text.startswith("ProfilerStep#") for text in named) == 4 * (ranges == "profiler")
    assert sum(text.startswith("Optimizer.step#") for text in named) == 4 * (ranges != "none")
    assert not any(text.startswith("step ") for text in named)


def test_memory_does_not_grow_with_the_steps(tmp_path: Path) -> None:
    peaks = []
    for steps in (3, 12):
        tracemalloc.start()
        make_run(tmp_path / str(steps), Plan(ranks=1, steps=steps, kernels=20_000 * steps))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.25 * peaks[0]


def test_more_stages_than_micro_batches_do_not_block_each_other(tmp_path: Path) -> None:
    plan = Plan(ranks=6, steps=3, kernels=300, pipeline_parallel=6, micro_batches=2)
    truth = make_run(tmp_path / "run", plan)
    exchanges = [
        rank["steps"][1]["collectives"]["pp:send_recv"]["count"] for rank in truth["ranks"]
    ]
    # Ends of the pipeline have one neighbour; a message each way for each micro-batch at most.
    assert exchanges[0] <= 4
    assert exchanges[2] > exchanges[0]


def test_tables_have_the_columns_of_real_exports(tmp_path: Path) -> None:
    real = TRACES / "h100_2rank_before.sqlite"
    if not real.is_file():
        pytest.skip(f"no real trace at {real}; set NSYSFLOW_TRACES")
    make_run(tmp_path / "run", Plan(ranks=2, steps=2, kernels=300))

    def columns(path: Path) -> dict[str, list[tuple[Any, ...]]]:
        connection = sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)
        names = [
            r[0] for r in connection.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        found = {
            n: [r[1:4] for r in connection.execute(f'PRAGMA table_info("{n}")')] for n in names
        }
        connection.close()
        return found

    ours, theirs = columns(tmp_path / "run" / "rank0.sqlite"), columns(real)
    common = ours.keys() & theirs.keys()
    assert len(common) >= 15
    for name in sorted(common):
        assert ours[name] == theirs[name], name


def test_the_generator_knows_nothing_of_the_analyses() -> None:
    allowed = ("nsysflow.demo", "nsysflow.errors")
    for path in (ROOT / "nsysflow" / "demo").glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            module = getattr(node, "module", None) if isinstance(node, ast.ImportFrom) else None
            names = (
                [alias.name for alias in node.names] if isinstance(node, ast.Import) else [module]
            )
            for name in names:
                assert not (name or "").startswith("nsysflow") or name.startswith(allowed), path


def test_the_command_writes_a_run_once(tmp_path: Path) -> None:
    target = tmp_path / "run"
    asked = ("demo", target, "--ranks", 2, "--steps", 3, "--kernels", 300, "--evidence", "none")
    ended = in_process(*asked)
    assert (ended.code, ended.err) == (0, "")
    assert str(target / "truth.json") in ended.out
    assert {path.name for path in target.iterdir()} == {
        "rank0.sqlite", "rank1.sqlite", "nsysflow.toml", "truth.json",
    }  # fmt: skip
    assert "NVTX_EVENTS" not in tables(target / "rank0.sqlite")
    before = digest(target)
    again = in_process(*asked)
    assert (again.code, len(again.failures)) == (2, 1)
    assert "not an empty folder" in again.err
    assert digest(target) == before


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (("--ranks", 1025), "--ranks must be 1 to 1024"),
        (("--ranks", 6, "--tp", 4), "multiple of TP x PP"),
        (("--ranks", 2, "--late-rank", 2), "--late-rank must be a rank of the run, 0 to 1"),
        (("--evidence", "nvtx,gpu"), "gpu"),
        (("--steps", 0), "--steps must be at least 1"),
        (("--seed", -1), "--seed must be at least 0"),
        (("--drift-ppb", -5), "--drift-ppb must be at least 0"),
        (("--stall-every", -1), "--stall-every must be at least 0"),
        (("--warm-up", -1), "--warm-up must be at least 0"),
        (("--steps", 3, "--eval-step", 3), "--eval-step must be a step of the run"),
        (("--checkpoint-step", -1), "--checkpoint-step must be a step of the run"),
        (("--malloc-step", 10), "--malloc-step must be a step of the run, 0 to 9"),
        (("--steps", 3, "--malloc-step", 5), "--malloc-step must be a step of the run, 0 to 2"),
    ],
)
def test_options_that_cannot_be_met_are_one_line(
    tmp_path: Path, option: tuple[object, ...], words: str
) -> None:
    ended = in_process("demo", tmp_path / "run", *option)
    assert (ended.code, len(ended.failures)) == (2, 1)
    assert words in ended.err
    assert not (tmp_path / "run").exists()


def test_a_run_whose_answers_would_not_hold_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--no-item does not go with fsdp"):
        make_run(tmp_path / "run", Plan(ranks=2, steps=4, kernels=800, item=False))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize(("ranks", "said"), [(1, "1 rank, 2 steps, "), (2, "2 ranks, 2 steps, ")])
def test_the_demo_says_what_it_made(tmp_path: Path, ranks: int, said: str) -> None:
    ended = in_process("demo", tmp_path / "run", "--ranks", ranks, "--steps", 2, "--kernels", 600)
    assert ended.code == 0
    assert ended.out.startswith(said)
