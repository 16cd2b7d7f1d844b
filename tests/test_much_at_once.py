"""A lane as large as ten million kernels is worked off in parts: the answers are the same."""

from __future__ import annotations

import re
from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any

import duckdb
import numpy as np
import pytest

from nsysflow import executor
from nsysflow.analyse import gaps
from nsysflow.analyse.path_work import unions
from nsysflow.resources import data
from tests.support.engine import documents_of
from tests.support.random_trace import random_run


@pytest.mark.parametrize("seed", range(6))
def test_gaps_do_not_depend_on_how_many_are_written_together(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export, traces = random_run(seed)
    whole = list(documents_of(export, traces, tmp_path / "whole"))
    monkeypatch.setattr(gaps, "AT_ONCE", 3)
    assert list(documents_of(export, traces, tmp_path / "parts")) == whole
    assert sum(document["gaps"]["count"] for document in whole) > gaps.AT_ONCE


@pytest.mark.parametrize("seed", range(40))
def test_a_place_covers_what_runs_at_it_and_below(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parent = np.array([-1] + [int(rng.integers(-1, child)) for child in range(1, 9)])
    count = int(rng.integers(0, 30))
    start = np.sort(rng.integers(0, 40, count))
    end = start + rng.integers(1, 12, count)
    path = rng.integers(0, len(parent), count)
    also = rng.integers(0, len(parent), 4 if count else 0), rng.integers(0, count or 1, 4)
    also = (also[0], also[1][: len(also[0])])
    expected: dict[int, set[int]] = {}
    for op in range(count):
        place = int(path[op])
        while place >= 0:
            expected.setdefault(place, set()).update(range(start[op], end[op]))
            place = int(parent[place])
    for place, op in zip(also[0].tolist(), also[1].tolist(), strict=True):
        expected.setdefault(place, set()).update(range(start[op], end[op]))
    facts: Any = SimpleNamespace(ops=SimpleNamespace(start=start, end=end))
    found = unions(facts, (path, np.arange(count)), also, parent).to_pydict()
    assert dict(zip(found["path"], found["union_ns"], strict=True)) == {
        place: len(instants) for place, instants in expected.items()
    }


@pytest.mark.parametrize("seed", range(20))
def test_the_median_of_counted_values_is_the_median(seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = rng.choice([1, 2, 5, 7, 10**12 + seed, -4], rng.integers(1, 13)).tolist()
    with duckdb.connect() as connection:
        connection.execute(data("sql", "macros", "counted.sql").read_text("utf-8"))
        ((found,),) = connection.execute(
            "WITH c AS (SELECT v, count(*) AS n FROM (SELECT unnest(?::BIGINT[]) AS v) GROUP BY v),"
            " u AS (SELECT v, sum(n) OVER (ORDER BY v) AS upto, sum(n) OVER () AS whole FROM c)"
            " SELECT middle_of(v, upto, whole) FROM u",
            [values],
        ).fetchall()
    assert found == round(median(values))


def test_no_analysis_holds_all_rows_of_a_group_in_memory() -> None:
    """Such aggregates cannot spill: within a small limit a large lane lost its section."""
    for path in sorted(Path("sql/analyses").glob("*.sql")):
        assert not re.search(r"\b(median|mode|quantile\w*)\(", path.read_text("utf-8")), path


def test_the_engine_leaves_room_for_the_columns_of_a_large_call(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nsysflow.machine.cores", lambda: 2)
    monkeypatch.setattr("nsysflow.machine.memory_bytes", lambda: 64_000_000_000)
    gigabyte = 1_000_000_000
    alone = executor.Pool().limits(1, tmp_path)
    large = executor.Pool().limits(1, tmp_path, 4 * gigabyte)
    assert large.memory_bytes < alone.memory_bytes == gigabyte
    # What the user allows is used.
    asked = executor.Pool(memory_bytes=gigabyte).limits(1, tmp_path, 4 * gigabyte)
    assert asked.memory_bytes == gigabyte
