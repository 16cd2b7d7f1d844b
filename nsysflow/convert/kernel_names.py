"""Class kernels by their names: the ordered rules of ``sql/convert/kernel_rules.csv``."""

from __future__ import annotations

import csv
from itertools import groupby
from typing import TYPE_CHECKING

import duckdb

from nsysflow import model, sqlfile
from nsysflow.errors import UsageError
from nsysflow.resources import data

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from nsysflow.settings import Settings

# A functor stands in the first few hundred characters; what follows are argument types, which
# name other kernels' parts and would only mislead. It also bounds the work on hostile names.
_HEAD_LENGTH = 800


def create_kernel_name(connection: duckdb.DuckDBPyConnection, settings: Settings) -> None:
    """Create table ``kernel_name`` from ``_kernel_string(name_id, name, short_name)``.

    The user's rules go first, on the whole name, then the shipped ones; the first match wins.

    Raises:
        UsageError: a user's rule has a pattern that is not RE2, or names no class.
    """
    left = _prepare(connection)
    for pattern, kind in settings.kernel_rules:
        left -= _apply_user_rule(connection, pattern, kind)
    connection.execute("UPDATE _kernel_class SET head = left(head, ?)", [_HEAD_LENGTH])
    for pattern, kind in _merged(shipped_rules()):
        # Most captures know a few kernels, and each rule asked costs as much as for thousands.
        if not left:
            break
        left -= _apply(connection, pattern, kind)
    connection.execute(
        f"CREATE OR REPLACE TABLE kernel_name AS {sqlfile.load('convert', 'kernel_name').text}"
    )
    connection.execute("DROP TABLE _kernel_class")
    connection.execute("DROP TABLE _class_rank")


def shipped_rules() -> list[tuple[str, str]]:
    """Return the shipped (RE2 pattern, class) pairs in their order."""
    text = data("sql", "convert", "kernel_rules.csv").read_text(encoding="utf-8")
    rows = sorted(csv.DictReader(text.splitlines()), key=lambda row: int(row["order"]))
    return [(row["pattern"], row["class"]) for row in rows]


def _prepare(connection: duckdb.DuckDBPyConnection) -> int:
    """Make the tables that rules work on, and return how many names there are."""
    names = connection.execute(
        "CREATE OR REPLACE TEMP TABLE _kernel_class AS SELECT name_id, name, short_name,"
        " name AS head, NULL::VARCHAR AS class FROM _kernel_string"
    )
    number = int(names.fetchall()[0][0])
    connection.execute(
        "CREATE OR REPLACE TEMP TABLE _class_rank(class VARCHAR, class_rank UTINYINT)"
    )
    ranks = [(name, rank) for rank, name in enumerate(model.CLASSES)]
    connection.executemany("INSERT INTO _class_rank VALUES (?, ?)", ranks)
    return number


def _merged(rules: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    # Neighbours of one class are one alternation: fewer passes, and the order is not touched.
    for kind, group in groupby(rules, key=lambda rule: rule[1]):
        yield "|".join(f"(?:{pattern})" for pattern, _ in group), kind


def _apply_user_rule(connection: duckdb.DuckDBPyConnection, pattern: str, kind: str) -> int:
    if kind != "comm" and kind not in model.CLASSES:
        raise UsageError(
            f"kernel rule {pattern!r}: no class {kind!r}",
            hint=f"use comm or one of {', '.join(model.CLASSES)}",
        )
    try:
        return _apply(connection, pattern, kind)
    except duckdb.InvalidInputException as error:
        reason = str(error).splitlines()[0]
        raise UsageError(
            f"kernel rule {pattern!r} is not a valid pattern ({reason})", hint="patterns are RE2"
        ) from error


def _apply(connection: duckdb.DuckDBPyConnection, pattern: str, kind: str) -> int:
    """Class the names that a rule takes, and return how many they are."""
    match = sqlfile.load("convert", "kernel_match").text
    taken = connection.execute(
        f"UPDATE _kernel_class SET class = $class WHERE name_id IN ({match})",  # noqa: S608 - our file
        {"class": kind, "pattern": pattern},
    )
    return int(taken.fetchall()[0][0])
