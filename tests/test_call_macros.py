"""Which recorded calls count: written once, in ``sql/macros/calls.sql``, against brute force."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from nsysflow.resources import data

SQL = Path(__file__).parent.parent / "sql"


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    """A connection that knows the macros."""
    with duckdb.connect() as connection:
        connection.execute(data("sql", "macros", "calls.sql").read_text("utf-8"))
        yield connection


@pytest.mark.parametrize("seed", range(20))
def test_the_outermost_of_nested_calls(seed: int, connection: duckdb.DuckDBPyConnection) -> None:
    rng = random.Random(seed)  # noqa: S311 - only has to repeat
    calls = set()
    for _ in range(rng.randint(1, 30)):
        start = rng.randint(-20, 20)
        calls.add(
            (rng.randint(0, 1), start, start + rng.choice((0, 1, 3, 9, 30)), rng.randint(0, 3))
        )
    connection.execute("CREATE TABLE c (t INTEGER, a BIGINT, b BIGINT, n INTEGER)")
    connection.executemany("INSERT INTO c VALUES (?, ?, ?, ?)", sorted(calls))
    query = "SELECT t, a, b, n FROM c QUALIFY is_outermost(t, a, b, n)"
    found = set(connection.execute(query).fetchall())

    def holds(outer: tuple[int, ...], inner: tuple[int, ...]) -> bool:
        (t, a, b, n), (thread, start, end, name) = outer, inner
        return t == thread and a <= start and b >= end and ((a, b) != (start, end) or n < name)

    assert found == {call for call in calls if not any(holds(other, call) for other in calls)}


@pytest.mark.parametrize(
    ("op", "ranks", "moves"),
    [
        ("all_reduce", 2, True), ("send", None, True), ("all_reduce", 1, False),
        ("comm_init", 8, False), ("comm_split", 8, False), ("group_end", None, False),
    ],
)  # fmt: skip
def test_calls_that_move_data(
    op: str, ranks: int | None, moves: bool, connection: duckdb.DuckDBPyConnection
) -> None:
    assert connection.execute("SELECT moves_data(?, ?)", [op, ranks]).fetchone() == (moves,)


def test_neither_is_written_a_second_time() -> None:
    written = re.compile(r"end_ns > coalesce\(max\(|'comm_destroy', 'group_start'")
    files = [path for path in SQL.rglob("*.sql") if written.search(path.read_text("utf-8"))]
    assert [path.name for path in files] == ["calls.sql"]
