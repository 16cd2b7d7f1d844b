"""What this machine lets the command use: cores, memory, disk."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

_CGROUP = Path("/sys/fs/cgroup")


def cores() -> int:
    """Return the cores this process may use: its affinity, and a container's quota if lower."""
    available = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    quota = _words(_CGROUP / "cpu.max")
    limit = int(quota[0]) / int(quota[1]) if len(quota) == 2 and quota[0].isdigit() else None  # noqa: PLR2004
    return max(1, min(available or 1, int(limit) if limit else available or 1))


def memory_bytes() -> int:
    """Return the memory this process may use: the machine's, or a container's limit if lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limit = _words(_CGROUP / "memory.max")
    return min(total, int(limit[0])) if limit and limit[0].isdigit() else total


def resident_bytes(pid: int | None) -> int | None:
    """Return the memory that a process holds, None where that is not told."""
    pages = _words(Path(f"/proc/{pid}/statm"))
    return int(pages[1]) * os.sysconf("SC_PAGE_SIZE") if len(pages) > 1 else None


def free_disk_bytes(folder: Path) -> int:
    """Return the free bytes where ``folder`` is, or will be."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return shutil.disk_usage(folder).free


def _words(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii").split()
    except OSError:
        return []
