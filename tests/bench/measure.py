"""Time a command and watch the memory of everything it starts."""

from __future__ import annotations

import os
import shutil
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

POLL_S = 0.05
SUMS = ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS")


@dataclass(frozen=True)
class Cost:
    """Wall time, and the highest sum of resident memory over the process tree."""

    seconds: float
    resident_bytes: int


def nsysflow(*arguments: object, cores: int | None = None) -> Cost:
    """Run one command; ``cores`` limits it to so many."""
    return run([sys.executable, "-m", "nsysflow", *map(str, arguments)], cores)


def run(command: Sequence[str], cores: int | None = None) -> Cost:
    """Run a command to its end, looking at its memory all the while."""
    ours = os.sched_getaffinity(0)
    os.sched_setaffinity(0, sorted(ours)[:cores])  # a child inherits it
    started = time.perf_counter()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    os.sched_setaffinity(0, ours)
    highest = 0
    while process.poll() is None:
        highest = max(highest, resident(process.pid))
        time.sleep(POLL_S)
    seconds = time.perf_counter() - started
    assert process.stderr is not None
    error = process.stderr.read().decode("utf-8", "replace")
    if process.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: exit {process.returncode}\n{error}")
    return Cost(seconds, highest)


def resident(root: int) -> int:
    """Resident bytes of a process and all below it."""
    total, waiting = 0, [root]
    while waiting:
        pid = waiting.pop()
        try:
            pages = int(Path(f"/proc/{pid}/statm").read_text("ascii").split()[1])
            for task in Path(f"/proc/{pid}/task").iterdir():
                waiting += map(int, (task / "children").read_text("ascii").split())
        except (OSError, ValueError):
            continue  # it ended meanwhile
        total += pages * os.sysconf("SC_PAGE_SIZE")
    return total


def scan_seconds(path: Path) -> float:
    """S: how long SQLite itself takes to add up the durations of the three large tables."""
    started = time.perf_counter()
    program = shutil.which("sqlite3")
    if program is None:
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as database:
            for table in SUMS:
                database.execute(f'SELECT sum("end" - start) FROM {table}').fetchall()
    else:
        script = ";".join(f'SELECT sum("end" - start) FROM {table}' for table in SUMS)
        subprocess.run([program, "-readonly", path, script], check=True, capture_output=True)
    return time.perf_counter() - started


def middle(measure: Callable[[], float], times: int) -> float:
    """The median of a few measurements."""
    return median(measure() for _ in range(times))


def size_of(folder: Path) -> int:
    """Bytes below a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
