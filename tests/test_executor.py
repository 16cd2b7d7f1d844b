"""Calls side by side: each failure costs its own call, and only that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nsysflow import executor
from nsysflow.errors import InputError, UsageError
from nsysflow.executor import Outcome, Pool
from tests.support import chores


def outcomes(pool: Pool, folder: Path, count: int = 10) -> dict[int, Outcome]:
    return dict(pool.run(chores.chore, [(number, folder) for number in range(count)], folder))


def check(found: dict[int, Outcome]) -> None:
    for number in (0, 1, 2, 6, 7, 8, 9):
        assert found[number] == Outcome(value=number * number)
    assert isinstance(found[3].error, InputError)
    assert (found[3].error.stage, found[3].error.hint) == ("open", "mend it")
    assert "KeyError" in str(found[4].error)
    assert "chores.py" in str(found[4].trace)


def test_a_dead_worker_costs_its_own_call(tmp_path: Path) -> None:
    found = outcomes(Pool(jobs=3), tmp_path)
    check(found)
    assert "killed" in str(found[5].error)
    assert sorted(found) == list(range(10))


def test_inline_is_the_same(tmp_path: Path) -> None:
    found = dict(
        Pool(jobs=1).run(chores.chore, [(number, tmp_path) for number in (0, 3, 4)], tmp_path)
    )
    assert found[0].value == 0
    assert isinstance(found[1].error, InputError)
    assert "KeyError" in str(found[2].error)


def test_every_call_is_made_once_where_nobody_dies(tmp_path: Path) -> None:
    calls = [(number, tmp_path) for number in (0, 1, 2, 3, 4, 6)]
    list(Pool(jobs=2).run(chores.chore, calls, tmp_path))
    assert {path.read_text() for path in tmp_path.glob("called-*")} == {"x"}
    assert len(list(tmp_path.glob("called-*"))) == 6


def test_errors_that_cannot_travel_do_not_break_the_pool(tmp_path: Path) -> None:
    found = dict(Pool(jobs=2).run(chores.raise_unpicklable, [(), ()], tmp_path))
    assert [str(found[index].error) for index in (0, 1)] == [
        "nsysflow fault: UnpicklableError: ab; rerun with --debug"
    ] * 2


def test_want_of_memory_is_said_plainly(tmp_path: Path) -> None:
    ((_, outcome),) = Pool(jobs=1).run(chores.run_out, [()], tmp_path)
    assert str(outcome.error) == "out of memory; raise --memory-limit or lower --jobs"


def test_limits_are_shared_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsysflow.machine.cores", lambda: 8)
    limits = Pool(jobs=4, memory_bytes=8_000_000_000).limits(2, tmp_path)
    assert (limits.threads, limits.memory_bytes) == (4, 4_000_000_000)
    limits = Pool(jobs=4, memory_bytes=8_000_000_000).limits(100, tmp_path)
    assert (limits.threads, limits.memory_bytes) == (2, 2_000_000_000)
    limits = Pool(jobs=100, memory_bytes=10_000_000_000).limits(100, tmp_path)
    assert (limits.threads, limits.memory_bytes) == (1, 100_000_000)
    with pytest.raises(UsageError, match="25 MB for each of 4 processes; raise it or"):
        Pool(jobs=4, memory_bytes=100_000_000).limits(100, tmp_path)
    with pytest.raises(UsageError, match=r"too little: 10 MB; raise it$"):
        Pool(jobs=4, memory_bytes=10_000_000).limits(1, tmp_path)


def test_what_does_not_fit_side_by_side_runs_in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nsysflow.machine.cores", lambda: 8)
    monkeypatch.setattr("nsysflow.machine.memory_bytes", lambda: 64_000_000_000)
    gigabyte = 1_000_000_000
    assert Pool().fitting(0).jobs == 8
    assert Pool().fitting(gigabyte).jobs == 8
    assert Pool().fitting(3 * gigabyte).jobs == 2
    assert Pool().fitting(30 * gigabyte).jobs == 1
    assert Pool(memory_bytes=4 * gigabyte).fitting(gigabyte).jobs == 4
    assert Pool(jobs=2, memory_bytes=4 * gigabyte).fitting(gigabyte).jobs == 2
    # Who names a number and no limit knows the machine better.
    assert Pool(jobs=6).fitting(3 * gigabyte).jobs == 6
    monkeypatch.setattr("nsysflow.machine.memory_bytes", lambda: 4 * gigabyte)
    assert Pool().fitting(gigabyte).jobs == 2


INTERRUPTED = """
import sys
from pathlib import Path
from nsysflow.executor import Pool
from tests.support import chores

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    list(Pool(jobs=2).run(chores.sleep_long, [(folder,), (folder,)], folder))
"""


def test_an_interrupt_leaves_no_worker(tmp_path: Path) -> None:
    script = tmp_path / "main.py"
    script.write_text(INTERRUPTED)
    root = Path(__file__).parent.parent
    process = subprocess.Popen(
        [sys.executable, script, tmp_path],
        env={**os.environ, "PYTHONPATH": str(root)},
        stderr=subprocess.PIPE,
        text=True,
    )
    until = time.monotonic() + 60
    while len(workers := list(tmp_path.glob("asleep-*"))) < 2:
        assert time.monotonic() < until, "the workers did not start"
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert "KeyboardInterrupt" in err
    for worker in workers:
        assert not Path(f"/proc/{worker.name.split('-')[1]}").exists()


def test_dask_does_the_same_calls(tmp_path: Path) -> None:
    distributed = pytest.importorskip("distributed", reason="Dask is an extra")
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        pool = Pool(scheduler=cluster.scheduler_address)
        calls = [(number, tmp_path) for number in (0, 3, 4, 0)]
        found = dict(pool.run(chores.chore, calls, tmp_path))
        assert (found[0].value, found[3].value) == (0, 0)
        assert isinstance(found[1].error, InputError)
        assert "KeyError" in str(found[2].error)
        # Equal calls are both made: nothing is answered from memory.
        assert (tmp_path / "called-0").read_text() == "xx"


def test_a_scheduler_that_is_not_there(tmp_path: Path) -> None:
    pytest.importorskip("distributed", reason="Dask is an extra")
    with pytest.raises(UsageError, match="no Dask scheduler"):
        list(Pool(scheduler_file=tmp_path / "none.json").run(chores.square, [(1,)], tmp_path))


def test_dask_missing_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(UsageError, match="not installed"):
        list(Pool(scheduler="tcp://127.0.0.1:1").run(chores.square, [(1,)], tmp_path))


def test_workers_wait_for_the_next_calls(tmp_path: Path) -> None:
    pool = Pool(jobs=2)
    calls = [(tmp_path,)] * 4
    first = {outcome.value for _, outcome in pool.run(chores.whoami, calls, tmp_path)}
    # Fewer calls, a pool that was narrowed: the same processes.
    again = pool.fitting(0).run(chores.whoami, calls[:2], tmp_path)
    assert {outcome.value for _, outcome in again} <= first
    assert os.getpid() not in first


def test_workers_end_with_their_pool_and_before_a_call_of_its_own(tmp_path: Path) -> None:
    for end in (lambda pool: list(pool.run(chores.square, [(3,)], tmp_path)), lambda _: None):
        pool = Pool(jobs=2)
        workers = {o.value for _, o in pool.run(chores.whoami, [(tmp_path,)] * 4, tmp_path)}
        assert any(map(alive, workers))
        end(pool)
        del pool
        assert not any(map(alive, workers))


def test_workers_that_hold_much_are_not_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(executor, "_LIGHT_MEMORY", 1)
    pool = Pool(jobs=2)
    calls = [(tmp_path,)] * 4
    first = {outcome.value for _, outcome in pool.run(chores.whoami, calls, tmp_path)}
    assert not any(map(alive, first))
    second = {outcome.value for _, outcome in pool.run(chores.whoami, calls, tmp_path)}
    assert not first & second


def test_a_dead_worker_does_not_cost_the_next_calls(tmp_path: Path) -> None:
    pool = Pool(jobs=3)
    check(outcomes(pool, tmp_path))
    workers = [o.value for _, o in pool.run(chores.whoami, [(tmp_path,)] * 3, tmp_path)]
    os.kill(workers[0], signal.SIGKILL)
    found = dict(pool.run(chores.square, [(n,) for n in range(5)], tmp_path))
    assert [found[n].value for n in range(5)] == [0, 1, 4, 9, 16]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().split(") ")[1][0] != "Z"
    except OSError:
        return False
