"""The errors a person at the terminal is meant to read."""

from __future__ import annotations

import errno
import os
from pathlib import Path

EXIT_OK = 0
EXIT_FAULT = 1
EXIT_USAGE = 2
EXIT_PARTIAL = 3
EXIT_NOTHING = 4
EXIT_CHECK_FAILED = 5
EXIT_CANNOT_JUDGE = 6
EXIT_INTERRUPTED = 130


class NsysflowError(Exception):
    """One failure, in one line: what was tried and on which file; ``hint`` says what to do next."""

    exit_code = EXIT_FAULT

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        """Keep the two halves of the line."""
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        """Return the line as it is printed."""
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(NsysflowError):
    """The command line or a configuration file is wrong."""

    exit_code = EXIT_USAGE


class DiskError(NsysflowError):
    """The output cannot be written: no room, or not allowed."""

    exit_code = EXIT_USAGE


def disk_error(error: BaseException) -> DiskError | None:
    """Return the line for an error of the disk that is written to, None for any other."""
    number = error.errno if isinstance(error, OSError) else None
    said = str(error)
    if number in {errno.ENOSPC, errno.EDQUOT} or "No space left" in said or "write failed" in said:
        return DiskError(
            "the disk of the output folder or of TMPDIR is full",
            hint="make room, or choose another folder with -o",
        )
    if number == errno.EFBIG:
        return DiskError(
            "a file would grow larger than is allowed here (ulimit -f)",
            hint="raise that limit, or choose another folder with -o",
        )
    if number in {errno.EROFS, errno.EACCES, errno.EPERM}:
        name = error.filename if isinstance(error, OSError) else None
        return DiskError(
            f"{Path(str(name)).parent if name else 'a file'}: {os.strerror(number or 0).lower()}",
            hint="check who may write there, or choose another folder with -o",
        )
    return None


class NothingUsableError(NsysflowError):
    """No input could be analysed, so there is no report."""

    exit_code = EXIT_NOTHING


class InputError(NsysflowError):
    """One input failed; the others go on.

    ``stage`` is one of find, open, export, verify, convert, analyse, render.
    ``no_gpu_work`` tells a readable export without device rows from one that cannot be read.
    """

    exit_code = EXIT_PARTIAL

    def __init__(
        self, message: str, *, stage: str, hint: str | None = None, no_gpu_work: bool = False
    ) -> None:
        """Keep where it happened beside the line."""
        super().__init__(message, hint=hint)
        self.stage = stage
        self.no_gpu_work = no_gpu_work

    def __reduce__(self) -> tuple[object, ...]:
        """Return what rebuilds the error in another process."""
        # Keyword-only arguments do not survive the default pickling between worker processes.
        return (_rebuild, (self.message, self.stage, self.hint, self.no_gpu_work))


def _rebuild(message: str, stage: str, hint: str | None, no_gpu_work: bool) -> InputError:
    return InputError(message, stage=stage, hint=hint, no_gpu_work=no_gpu_work)
