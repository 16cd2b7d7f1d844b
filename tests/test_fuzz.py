"""Spoilt exports: an exit code of the contract, whole identities, no traceback, nothing touched.

Each round puts a few spoilt files beside one good file, which must come out as it does alone.
``NSYSFLOW_FUZZ_ROUNDS`` files are spoilt, each in about two ways; ``NSYSFLOW_FUZZ_SEED`` is the
first of their seeds.
"""

# ruff: noqa: S311  randomness that must be repeatable, not secret

from __future__ import annotations

import os
from random import Random
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.command import Report, check_identity, report
from tests.support.export import Export, ms, us
from tests.support.mutate import spoil
from tests.support.random_trace import random_run

if TYPE_CHECKING:
    from pathlib import Path

SEED = int(os.environ.get("NSYSFLOW_FUZZ_SEED", "0"))
FILES = int(os.environ.get("NSYSFLOW_FUZZ_ROUNDS", "80"))
TOGETHER = 10
MOST_LINES = 3


def good_export() -> Export:
    export = Export()
    for step in range(3):
        begin = ms(10 * step + 1)
        export.nvtx(f"step {step}", begin, begin + ms(10))
        export.kernel("gemm", begin + ms(1), begin + ms(8), launch=(begin, begin + us(5)))
    export.sync(3, ms(9), ms(10), launch=(ms(9), ms(10)))
    return export


def base_export(seed: int) -> Export:
    """Something with a row of most kinds, without NOT NULL so that it can be spoilt."""
    export, _ = random_run(seed)
    export.strict = False
    export.mpi_rank(3)
    export.env(RANK="3", WORLD_SIZE="8")
    export.gpu(0, "NVIDIA H100 80GB HBM3", "GPU-aaaa")
    export.session(1_700_000_000_000_000_000, 5)
    export.duration(ms(100))
    export.system("Hostname", "node17")
    export.diagnostic("something was lost")
    export.thread("python")
    export.os_call("poll", 5, 500)
    export.overhead("CUPTI instrumentation", 10, 20, 4)
    export.sync(3, 20, 30, launch=(20, 31))
    export.nvtx("ncclAllReduce", 30, 40, domain=1, registered=True)
    export.nvtx("NCCL", 1, None, kind=75, domain=1)
    return export


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The document of the good file by itself."""
    folder = tmp_path_factory.mktemp("alone")
    good_export().write_sqlite(folder / "run" / "good_rank900.sqlite")
    made = report(folder / "run", folder / "out")
    assert made.ended.code == 0, made.ended.err
    return made.lane


@pytest.mark.parametrize("first", range(SEED, SEED + FILES, TOGETHER))
def test_spoilt_exports(first: int, tmp_path: Path, alone: dict[str, Any]) -> None:
    run = tmp_path / "run"
    good_export().write_sqlite(run / "good_rank900.sqlite")
    done = {}
    for seed in range(first, first + TOGETHER):
        path = base_export(seed).write_sqlite(run / f"spoilt{seed}.sqlite")
        done[path.name] = spoil(Random(f"spoil {seed}"), path)
    made = report(run, tmp_path / "out")
    story = f"NSYSFLOW_FUZZ_SEED={first} NSYSFLOW_FUZZ_ROUNDS={TOGETHER}: {done}\n{made.ended.err}"
    assert made.ended.code in {0, 3}, story
    check(made, alone, story)


def check(made: Report, alone: dict[str, Any], story: str) -> None:
    lanes = made.lanes
    for label, document in lanes.items():
        try:
            check_identity(document)
        except AssertionError as error:
            raise AssertionError(f"{label} {document['lane']['file']}: {error}\n{story}") from error
    (good,) = [d for d in lanes.values() if d["lane"]["file"] == "good_rank900.sqlite"]
    for name, section in alone.items():
        assert good[name] == section, (name, story)
    inputs = made.result["run"]["inputs"]
    for item in inputs:
        assert item["status"] in {"ok", "failed", "no_gpu_work"}, story
        lines = [line for line in made.ended.failures if item["file"] in line]
        if item["status"] != "ok":
            assert item["message"], story
            assert "\n" not in item["message"], story
            assert 1 <= len(lines) <= MOST_LINES, story
    assert len(inputs) == TOGETHER + 1, story
