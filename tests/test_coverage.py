"""Unions of intervals, against counting instants one by one."""

from __future__ import annotations

import numpy as np
import pytest

from nsysflow.analyse import coverage
from nsysflow.analyse.coverage import Coverage, alone, by_group, first_come

SEEDS = range(40)
LATEST = 60


def intervals(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A few intervals by start, some without a length, some at negative times."""
    rng = np.random.default_rng(seed)
    start = np.sort(rng.integers(-20, LATEST - 20, rng.integers(0, 14)))
    return start, start + rng.integers(0, 12, len(start))


def instants(start: np.ndarray, end: np.ndarray) -> set[int]:
    pairs = zip(start.tolist(), end.tolist(), strict=True)
    return {at for low, high in pairs for at in range(low, high)}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_union_up_to_every_instant(seed: int) -> None:
    start, end = intervals(seed)
    times = np.arange(-25, LATEST)
    covered = instants(start, end)
    expected = [sum(at < time for at in covered) for time in times.tolist()]
    assert Coverage.of(start, end).at(times).tolist() == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_stretches_are_the_union_without_joints(seed: int) -> None:
    start, end = intervals(seed)
    some = end > start
    begin, stop = Coverage.of(start[some], end[some]).stretches()
    assert instants(begin, stop) == instants(start, end)
    assert (begin[1:] > stop[:-1]).all()


@pytest.mark.parametrize("seed", SEEDS)
def test_alone_shares_no_instant(seed: int) -> None:
    start, end = intervals(seed)
    some = end > start
    start, end = start[some], end[some]
    found = alone(start, end).tolist()
    for k, single in enumerate(found):
        others = instants(np.delete(start, k), np.delete(end, k))
        assert single == (not others & set(range(start[k], end[k])))


@pytest.mark.parametrize("seed", SEEDS)
def test_an_instant_goes_to_the_lowest_place(seed: int) -> None:
    start, end = intervals(seed)
    some = end > start
    start, end = start[some], end[some]
    place = np.random.default_rng(seed).integers(0, 4, len(start))
    edges = np.array([-25, 0, 7, LATEST])
    found = first_come(start, end, place, (edges[:-1], edges[1:]))
    for one in set(place.tolist()):
        mine = instants(start[place == one], end[place == one])
        lower = instants(start[place < one], end[place < one])
        windows = zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True)
        expected = [len({at for at in mine - lower if a <= at < b}) for a, b in windows]
        assert found[one].tolist() == expected


@pytest.mark.parametrize("room", [1 << 62, 0], ids=["in one pass", "group by group"])
@pytest.mark.parametrize("seed", SEEDS)
def test_each_group_has_a_union_of_its_own(
    seed: int, room: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(coverage, "FAR", room)
    start, end = intervals(seed)
    rng = np.random.default_rng(seed)
    group, order = rng.integers(0, 3, len(start)), rng.permutation(len(start))
    expected = {
        one: len(instants(start[group == one], end[group == one])) for one in set(group.tolist())
    }
    assert by_group(group[order], start[order], end[order]) == expected
    monkeypatch.setattr(coverage, "AT_ONCE", 3)
    assert by_group(group[order], start[order], end[order]) == expected
