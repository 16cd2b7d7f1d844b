"""Interval sets and nesting against counting instants one by one."""

from __future__ import annotations

import random

import numpy as np
import pytest

from nsysflow.analyse.intervals import Spans, flatten, layers, minus, overlaps
from nsysflow.analyse.nesting import OUTSIDE, Paths, Thread, enclosing

SEEDS = range(400)
END = 80


def disjoint(rng: random.Random, most: int) -> Spans:
    count = rng.randint(0, most)
    points = sorted(rng.sample(range(END), 2 * count))
    ints = [np.array(part, dtype=np.int64) for part in (points[::2], points[1::2], range(count))]
    return Spans(*ints)


def instants(spans: Spans) -> dict[int, int]:
    """Which interval holds each instant; an instant held twice fails."""
    held: dict[int, int] = {}
    for start, end, of in zip(spans.start, spans.end, spans.of, strict=True):
        for at in range(start, end):
            assert at not in held
            held[at] = int(of)
    return held


@pytest.mark.parametrize("seed", SEEDS)
def test_sets(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - only has to repeat
    a, b = disjoint(rng, 8), disjoint(rng, 8)
    in_a, in_b = instants(a), instants(b)
    first, second, shared = overlaps(a, b)
    assert instants(shared) == {at: of for at, of in in_a.items() if at in in_b}
    for k in range(len(shared)):
        assert in_a[int(shared.start[k])] == a.of[first[k]]
        assert in_b[int(shared.start[k])] == b.of[second[k]]
    rest = minus(a, b)
    assert instants(rest) == {at: of for at, of in in_a.items() if at not in in_b}
    assert list(rest.start) == sorted(rest.start)
    assert instants(layers([a, b])) == in_b | in_a


@pytest.mark.parametrize("seed", SEEDS)
def test_flatten_gives_an_instant_to_the_latest_start(seed: int) -> None:
    rng = random.Random(seed)  # noqa: S311 - only has to repeat
    count = rng.randint(0, 10)
    start = np.array([rng.randint(0, 40) for _ in range(count)], dtype=np.int64)
    end = start + np.array([rng.randint(0, 20) for _ in range(count)], dtype=np.int64)
    expected = {}
    for at in range(END):
        inside = [k for k in range(count) if start[k] <= at < end[k]]
        if inside:
            expected[at] = max(inside, key=lambda k: (start[k], -end[k], k))
    assert instants(flatten(start, end, np.arange(count))) == expected


def written(paths: Paths, path: int) -> tuple[int, ...]:
    names: list[int] = []
    while path != OUTSIDE:
        names.append(paths.name[path])
        path = paths.parent[path]
    return tuple(reversed(names))


@pytest.mark.parametrize("seed", SEEDS)
def test_nesting_in_chunks(seed: int) -> None:
    """Ranges, some crossing, in chunks: the path at each instant as brute force finds it.

    Some chunks begin before their first range, and some have none: what they hold nests nothing.
    """
    rng = random.Random(seed)  # noqa: S311 - only has to repeat
    count, size = rng.randint(1, 30), rng.randint(1, 7)
    ranges = sorted(
        (
            (at, at + rng.randint(1, 20), rng.randint(0, 3))
            for at in (rng.randint(0, 30) for _ in range(count))
        ),
        key=lambda r: (r[0], -r[1]),
    )
    start, end, name = (np.array(column) for column in zip(*ranges, strict=True))
    parents = [
        next((j for j in range(k - 1, -1, -1) if end[j] >= end[k]), OUTSIDE) for k in range(count)
    ]
    assert enclosing(end).tolist() == parents

    def path_of(k: int) -> tuple[int, ...]:
        return () if k == OUTSIDE else (*path_of(parents[k]), int(name[k]))

    def at(time: int) -> tuple[int, ...]:
        inside = [k for k in range(count) if start[k] <= time < end[k]]
        return path_of(max(inside)) if inside else ()

    paths = Paths()
    walker = Thread(paths)
    cuts = [0, *sorted(rng.randint(0, count) for _ in range(count // size))]
    since = sorted(rng.randint(start[max(low - 1, 0)], start[min(low, count - 1)]) for low in cuts)
    for low, high, begin, stop in zip(
        cuts, [*cuts[1:], count], since, [*since[1:], END], strict=True
    ):
        some = slice(low, high)
        roots = np.full(high - low, OUTSIDE)
        got = walker.add(start[some], end[some], name[some], roots, since=begin)
        assert [written(paths, int(p)) for p in got] == [path_of(k) for k in range(low, high)]
        times = np.arange(begin, stop)
        assert [written(paths, int(p)) for p in walker.at(times)] == [at(int(t)) for t in times]


def test_a_program_that_never_pops_costs_its_depth_only() -> None:
    count = 300
    start = np.arange(count, dtype=np.int64)
    end = np.full(count, 10_000, dtype=np.int64) - start
    paths = Paths()
    names, roots = np.zeros(count, np.int64), np.full(count, OUTSIDE)
    got = Thread(paths).add(start, end, names, roots, since=0)
    assert len(paths) <= 65
    assert len(set(got.tolist())) == len(paths)
