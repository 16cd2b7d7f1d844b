"""What a person at the terminal sees: results on stdout, everything else on stderr."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TextIO

from nsysflow.errors import DiskError

_BOLD, _RED, _RESET = "\x1b[1m", "\x1b[31m", "\x1b[0m"


def plain(text: str) -> str:
    """Return the text as one line that cannot steer a terminal: controls are shown, not sent."""
    return "".join(_visible(char) for char in text)


def _visible(char: str) -> str:
    # What reorders a line (U+202E and its like) is not printable either: no name disguises itself.
    if char.isprintable():
        return char
    return " " if char.isspace() else repr(char)[1:-1]


def aligned(header: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table whose columns are padded with spaces; cells are made plain."""
    lines = [[plain(cell) for cell in row] for row in [header, *rows]]
    widths = [max(len(line[column]) for line in lines) for column in range(len(header))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    ]


@dataclass
class Console:
    """Where messages go. ``quiet`` leaves failures and results; ``verbose`` adds details."""

    quiet: bool = False
    verbose: bool = False
    debug: bool = False
    color: bool | None = None
    log_path: Path | None = None
    _early: list[str] = field(default_factory=list)

    def out(self, text: str) -> None:
        """Print a result. A reader that went away (``| head``) is no failure of ours."""
        write(text + "\n")

    def note(self, text: str) -> None:
        """Tell what is happening; nothing depends on it."""
        if not self.quiet:
            _err(plain(text))
        self._log("note", text)

    def detail(self, text: str) -> None:
        """Tell what only a curious reader wants."""
        if self.verbose and not self.quiet:
            _err(plain(text))
        self._log("detail", text)

    def fail(self, text: str) -> None:
        """Name one failure, in one line, whatever was asked about quietness."""
        line = plain(text)
        _err(f"{_RED}{line}{_RESET}" if self._colored(sys.stderr) else line)
        self._log("failed", text)

    def traceback(self, text: str) -> None:
        """Show where a failure came from, to whoever asked for it with --debug."""
        if self.debug:
            for line in text.rstrip().split("\n"):
                _err(plain(line))

    def bold(self, text: str) -> str:
        """Return the text for stdout, emphasised where that is wanted."""
        return f"{_BOLD}{text}{_RESET}" if self._colored(sys.stdout) else text

    def start_log(self, path: Path) -> None:
        """Append to ``path`` from now on, beginning with what was said before it was known."""
        self.log_path = path
        early, self._early = self._early, []
        for line in early:
            self._append(line)

    def _log(self, kind: str, text: str) -> None:
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        # Its folder may have gone away; whoever writes a result there tells so.
        with contextlib.suppress(OSError):
            self._append(f"{now} {kind} {plain(text)}")

    def _append(self, line: str) -> None:
        if self.log_path is None:
            self._early.append(line)
            return
        with self.log_path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(line + "\n")

    def _colored(self, stream: TextIO) -> bool:
        if self.color is not None:
            return self.color
        return "NO_COLOR" not in os.environ and stream.isatty()


def write(text: str) -> bool:
    """Write to stdout; return whether its reader is still there (``| head`` leaves).

    Raises:
        DiskError: it cannot be written for another reason.
    """
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError as error:
        _give_up(sys.stdout)
        if isinstance(error, BrokenPipeError):
            return False
        raise DiskError(
            f"standard output cannot be written: {(error.strerror or str(error)).lower()}",
            hint="send it elsewhere",
        ) from error
    return True


def _err(line: str) -> None:
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except OSError:
        # Nowhere is left to say so; the log has the line.
        _give_up(sys.stderr)


def _give_up(stream: TextIO) -> None:
    # The interpreter flushes its streams again when it ends, and would complain then.
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class Progress:
    """A counter on stderr, only where that is a terminal and nobody asked for quiet."""

    def __init__(self, console: Console, what: str, total: int) -> None:
        """Begin at 0 of ``total``."""
        self.what, self.total, self.done = what, total, 0
        self.shown = not console.quiet and sys.stderr.isatty() and total > 1
        self._draw()

    def step(self) -> None:
        """One more piece is done."""
        self.done += 1
        self._draw()

    def end(self) -> None:
        """Leave the line empty for what comes next."""
        if self.shown:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()

    def _draw(self) -> None:
        if self.shown:
            sys.stderr.write(f"\r\x1b[K{self.what} {self.done}/{self.total}")
            sys.stderr.flush()
