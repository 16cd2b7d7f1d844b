"""Spread independent calls over processes or a Dask cluster; one that fails costs itself only."""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import traceback
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    Future,
    ProcessPoolExecutor,
    as_completed,
    wait,
)
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from nsysflow import interrupt, machine
from nsysflow.errors import EXIT_INTERRUPTED, NsysflowError, UsageError, disk_error
from nsysflow.settings import Limits

Call = tuple[Any, ...]
Function = Callable[..., Any]

# Below this DuckDB cannot even hold its own blocks for a scan.
_LEAST_MEMORY = 64_000_000
# Enough for ten million kernels; what does not fit spills to disk.
_USUAL_MEMORY = 1_000_000_000
# Of several side by side: a lane of a million ops is no slower for it, two stay near 2 GB.
_BESIDE_MEMORY = 600_000_000
# Beside the columns of a call that itself needs more than a core's share: no slower, and all of ten
# million kernels of one lane stay near 2 GB.
_LARGE_MEMORY = 400_000_000
# A small machine has more; the rest is the system's, its file cache and the user's.
_CORE_MEMORY = 1_000_000_000
# A worker that holds more than this is not kept for the next calls.
_LIGHT_MEMORY = 400_000_000
_GRACE_S = 2.0
_LOOK_UP_S = 0.2


@dataclass(frozen=True)
class Outcome:
    """What became of one call: its value, or the error and the traceback of its cause, if any."""

    value: Any = None
    error: NsysflowError | None = None
    trace: str | None = None


class TaskError(NsysflowError):
    """Something that nsysflow did not expect while it worked on one input."""


@dataclass
class _Workers:
    """Processes that wait for the next calls: to start one takes longer than to read a small rank.

    They end, and are waited for, when this is no longer referred to: an executor that still ends
    while the program does may write to a pipe that it has closed.
    """

    idle: ProcessPoolExecutor | None = None
    count: int = 0

    def take(self, jobs: int) -> ProcessPoolExecutor:
        """Return at least so many; they are the caller's."""
        pool, self.idle = self.idle, None
        if pool is not None and self.count >= jobs:
            return pool
        _end(pool)
        # Spawned, not forked: the parent may hold threads of DuckDB and Arrow that a fork would
        # break.
        context = multiprocessing.get_context("spawn")
        self.count = jobs
        return ProcessPoolExecutor(jobs, mp_context=context, initializer=_leave_on_signal)

    def give_back(self, pool: ProcessPoolExecutor) -> None:
        """Keep what was taken, unless its memory is better given to others."""
        held = [machine.resident_bytes(child.pid) for child in multiprocessing.active_children()]
        if all(size is not None and size <= _LIGHT_MEMORY for size in held):
            self.idle = pool
        else:
            _end(pool)

    def dismiss(self) -> None:
        """End those that wait."""
        pool, self.idle = self.idle, None
        _end(pool)

    def __del__(self) -> None:
        """End those that wait."""
        self.dismiss()


@dataclass(frozen=True)
class Pool:
    """Where calls run. ``memory_bytes`` is for all of them together; None: what the machine has."""

    jobs: int | None = None
    memory_bytes: int | None = None
    scheduler: str | None = None
    scheduler_file: Path | None = None
    _workers: _Workers = field(default_factory=_Workers, compare=False, repr=False)

    @property
    def clustered(self) -> bool:
        """Whether a Dask scheduler was named."""
        return self.scheduler is not None or self.scheduler_file is not None

    def fitting(self, need_bytes: int) -> Pool:
        """Return a pool of no more processes than have room, if the largest call needs so much.

        Without a limit each core stands for a gigabyte, of which the machine must have twice as
        much. How many run on a cluster is its scheduler's affair; a number that the user gave
        without a limit stands.
        """
        if self.clustered or (self.jobs is not None and self.memory_bytes is None):
            return self
        cores = machine.cores()
        room = self.memory_bytes or min(cores * _CORE_MEMORY, machine.memory_bytes() // 2)
        return replace(self, jobs=max(1, min(self.jobs or cores, room // max(1, need_bytes))))

    def limits(self, tasks: int, temp_dir: Path, need_bytes: int = 0) -> Limits:
        """Return what each of ``tasks`` calls may use, running side by side.

        ``need_bytes`` is about what the largest of them needs.
        """
        side_by_side = max(1, min(self.jobs or machine.cores(), tasks))
        if self.memory_bytes is None:
            usual = _USUAL_MEMORY if side_by_side == 1 else _BESIDE_MEMORY
            usual = _LARGE_MEMORY if need_bytes > _CORE_MEMORY else usual
            memory = min(usual, machine.memory_bytes() // 2 // side_by_side)
        else:
            memory = self.memory_bytes // side_by_side
        if memory < _LEAST_MEMORY:
            each = f" for each of {side_by_side} processes" if side_by_side > 1 else ""
            raise UsageError(
                f"--memory-limit is too little: {memory // 10**6} MB{each}",
                hint="raise it or lower --jobs" if each else "raise it",
            )
        threads = 1 if self.clustered else max(1, machine.cores() // side_by_side)
        return Limits(threads=threads, memory_bytes=memory, temp_dir=temp_dir)

    def run(
        self, function: Function, calls: Sequence[Call], shared: Path
    ) -> Generator[tuple[int, Outcome], None, None]:
        """Yield (position in ``calls``, outcome) as calls end; close it to end what still runs.

        ``function`` and what it takes and gives must pickle. ``shared`` is the folder that every
        worker of a cluster has to see.
        """
        jobs = self.jobs or machine.cores()
        if not calls:
            return
        if self.clustered:
            yield from _on_cluster(self, function, calls, shared)
        elif jobs == 1 or len(calls) == 1:
            self._workers.dismiss()
            for index, call in enumerate(calls):
                yield index, guarded(function, call)
        else:
            yield from _in_processes(self._workers, min(jobs, len(calls)), function, calls)


def guarded(function: Function, call: Call) -> Outcome:
    """Call, and return the failure instead of raising it: not every exception can be pickled."""
    try:
        return Outcome(value=function(*call))
    except Exception as error:  # noqa: BLE001 - a fault on one input must not cost the others
        interrupt.again()
        trace = traceback.format_exc()
        if isinstance(error, NsysflowError):
            return Outcome(error=error, trace=trace if error.__cause__ else None)
        return Outcome(error=_fault(error), trace=trace)


def _fault(error: Exception) -> TaskError:
    name = type(error).__name__
    if isinstance(error, MemoryError) or "OutOfMemory" in name:
        return TaskError("out of memory", hint="raise --memory-limit or lower --jobs")
    known = disk_error(error)
    if known is not None:
        return TaskError(known.message, hint=known.hint)
    text = " ".join(str(error).split())
    return TaskError(f"nsysflow fault: {name}: {text}"[:400], hint="rerun with --debug")


def _died() -> Outcome:
    return Outcome(
        error=TaskError(
            "its worker process was killed, most often for want of memory",
            hint="lower --jobs or set --memory-limit",
        )
    )


def _in_processes(
    workers: _Workers, jobs: int, function: Function, calls: Sequence[Call]
) -> Iterator[tuple[int, Outcome]]:
    queue = deque(range(len(calls)))
    while queue:
        # A dying process takes the whole pool along, without telling whose call killed it.
        suspects = yield from _until_broken(workers, jobs, function, calls, queue)
        for index in suspects:
            yield from _until_dead(workers, function, calls, index)


def _until_dead(
    workers: _Workers, function: Function, calls: Sequence[Call], index: int
) -> Iterator[tuple[int, Outcome]]:
    # One that shares the pool with others, even idle ones, could be blamed for their death.
    workers.dismiss()
    if (yield from _until_broken(workers, 1, function, calls, deque([index]))):
        yield index, _died()


def _until_broken(
    workers: _Workers, jobs: int, function: Function, calls: Sequence[Call], queue: deque[int]
) -> Generator[tuple[int, Outcome], None, list[int]]:
    """Work through ``queue``; return the calls that were running when a worker died, if one did."""
    pool = workers.take(jobs)
    running: dict[Future[Outcome], int] = {}
    finished = False
    try:
        while queue or running:
            while queue and len(running) < jobs:
                index = queue.popleft()
                running[pool.submit(guarded, function, calls[index])] = index
            # Not without end: a signal that another thread took is seen only between two waits.
            done, _ = wait(running, _LOOK_UP_S, FIRST_COMPLETED)
            if any(isinstance(future.exception(), BrokenProcessPool) for future in done):
                return sorted(running.values())
            for future in done:
                yield running.pop(future), _outcome(future)
        finished = True
    except BrokenProcessPool:
        return sorted([*running.values(), index])
    finally:
        if finished:
            workers.give_back(pool)
        else:
            _end(pool, kill=True)
    return []


def _outcome(future: Future[Outcome]) -> Outcome:
    error = future.exception()
    return future.result() if error is None else Outcome(error=_fault(Exception(error)))


def _end(pool: ProcessPoolExecutor | None, *, kill: bool = False) -> None:
    if pool is None:
        return
    workers = multiprocessing.active_children() if kill else []
    for worker in workers:
        worker.terminate()
    for worker in workers:
        worker.join(_GRACE_S)
        if worker.is_alive():
            worker.kill()
    pool.shutdown(wait=True, cancel_futures=True)


def _leave_on_signal() -> None:
    # As an exception, so that what the task started (nsys) is ended on the way out.
    interrupt.raise_on(lambda: SystemExit(EXIT_INTERRUPTED), signal.SIGINT, signal.SIGTERM)


def _on_cluster(
    pool: Pool, function: Function, calls: Sequence[Call], shared: Path
) -> Iterator[tuple[int, Outcome]]:
    with _client(pool) as client:
        _check_shared(client, shared)
        # pure=False, or Dask answers a repeated call from memory without doing it.
        executor = client.get_executor(pure=False)
        futures = {
            executor.submit(guarded, function, call): index for index, call in enumerate(calls)
        }
        with contextlib.ExitStack() as stack:
            stack.callback(executor.shutdown, wait=False)
            for future in as_completed(futures):
                died = type(future.exception()).__name__ == "KilledWorker"
                yield futures[future], _died() if died else _outcome(future)


def _client(pool: Pool) -> Any:  # noqa: ANN401 - a distributed.Client, which may not be installed
    try:
        from distributed import Client  # noqa: PLC0415 - an extra
    except ImportError as error:
        raise UsageError(
            "--scheduler needs Dask, which is not installed", hint="pip install 'nsysflow[dask]'"
        ) from error
    where = str(pool.scheduler or pool.scheduler_file)
    if pool.scheduler_file is not None and not pool.scheduler_file.is_file():
        # Dask would wait for it without end.
        raise UsageError(f"no Dask scheduler wrote {where}", hint="start it, or use --scheduler")
    try:
        if pool.scheduler is not None:
            return Client(pool.scheduler, timeout=30)
        return Client(scheduler_file=str(pool.scheduler_file), timeout=30)
    except (OSError, ValueError) as error:
        text = " ".join(str(error).split())
        raise UsageError(f"no Dask scheduler answers at {where}: {text}") from error


def _check_shared(client: Any, shared: Path) -> None:  # noqa: ANN401 - see _client
    seen = client.run(Path.exists, shared.absolute())
    blind = sorted(str(worker) for worker, sees in seen.items() if not sees)
    if not seen:
        raise UsageError("the Dask scheduler has no worker", hint="start dask worker processes")
    if blind:
        raise UsageError(
            f"Dask worker {blind[0]} does not see {shared}",
            hint="the output folder must lie on a file system that all workers share",
        )
