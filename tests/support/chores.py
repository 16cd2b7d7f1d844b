"""Calls for the executor's tests; worker processes import them by name."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from nsysflow.errors import InputError


def square(number: int) -> int:
    return number * number


def whoami(_folder: Path) -> int:
    time.sleep(0.1)
    return os.getpid()


def chore(number: int, folder: Path) -> int:
    """Do what the number says; leave a trace of having been called."""
    with (folder / f"called-{number}").open("a") as file:
        file.write("x")
    if number == 3:
        raise InputError("file 3 is broken", stage="open", hint="mend it")
    if number == 4:
        raise KeyError("surprise")
    if number == 5:
        os.kill(os.getpid(), signal.SIGKILL)
    return number * number


class UnpicklableError(Exception):
    def __init__(self, one: str, two: str) -> None:  # noqa: D107 - two arguments are the point
        super().__init__(one + two)


def raise_unpicklable() -> None:
    raise UnpicklableError("a", "b")


def run_out() -> None:
    raise MemoryError


def sleep_long(folder: Path) -> None:
    (folder / f"asleep-{os.getpid()}").touch()
    time.sleep(120)
