"""Folders for what is not kept, told by the process that made them."""

from __future__ import annotations

import os
import shutil
import socket
import time
from pathlib import Path

# Another host's processes cannot be asked; no command takes a day.
_STALE_S = 86_400


def owned(name: str) -> str:
    """Return a hidden name for a folder that this process will remove."""
    return f".{name}.{socket.gethostname()}-{os.getpid()}"


def clean(parent: Path, name: str) -> None:
    """Remove the folders of this name that a process left when it was killed."""
    here = f".{name}.{socket.gethostname()}-"
    for path in parent.iterdir():
        if not path.name.startswith(f".{name}."):
            continue
        owner = path.name.removeprefix(here).split("-")[0]
        known = path.name.startswith(here) and owner.isdigit()
        old = time.time() - path.stat().st_mtime > _STALE_S
        if not _runs(int(owner)) if known else old:
            shutil.rmtree(path, ignore_errors=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
