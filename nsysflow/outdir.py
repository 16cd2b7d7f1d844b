"""The folder that nsysflow writes: its marker, its store, and writes that are whole or absent."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsysflow import __version__
from nsysflow.errors import UsageError
from nsysflow.model import STORE_FORMAT

MARKER = ".nsysflow"
LOG = "nsysflow.log"
FOLDER = "nsysflow-report"
_STORE_README = """\
What nsysflow read from the captures, as Parquet. NOT MASKED: host names, paths, thread names and
annotation texts stand here as they were recorded. Share the pages, not this folder.
It can be deleted; the next `nsysflow report` makes it again. Ask it with `nsysflow sql`.
"""


def default(folder: Path | None, name: str) -> Path:
    """Return where the output goes when nobody said: in the run folder, else beside the caller."""
    if folder is not None and os.access(folder, os.W_OK):
        return folder / FOLDER
    return Path(f"{FOLDER}-{name}")


@dataclass(frozen=True)
class OutDir:
    """An output folder that exists and is ours."""

    path: Path

    @property
    def store(self) -> Path:
        """The folder of what was read from the traces."""
        return self.path / "store"

    @property
    def log(self) -> Path:
        """The log, which may differ between two equal runs."""
        return self.path / LOG

    def documents(self) -> list[Path]:
        """Return the rank documents that lie here, by name."""
        return sorted(self.path.glob("rank-*.json"))

    def keep_only(self, names: Iterable[str], patterns: Iterable[str]) -> None:
        """Remove what an earlier run left under ``patterns`` and this one does not make."""
        kept = set(names)
        for pattern in patterns:
            for path in self.path.glob(pattern):
                if path.name not in kept and not path.is_dir():
                    path.unlink()


def create(path: Path) -> OutDir:
    """Make or take over ``path`` for writing.

    Raises:
        UsageError: it is not ours, cannot be written, or holds the store of a newer nsysflow.
    """
    # Absolute, because a worker on another machine has another working directory.
    path = path.absolute()
    _refuse_unwritable_name(path)
    try:
        _refuse_foreign(path)
        path.mkdir(parents=True, exist_ok=True)
        write_text(path / MARKER, f"nsysflow {__version__} made this folder and may rewrite it\n")
        _fit_store(path / "store")
        _try_writing(path)
    except OSError as error:
        raise _unwritable(path, error, "choose another with -o DIR") from error
    return OutDir(path)


def existing(path: Path, need: str, *, written: Sequence[str] = ()) -> OutDir:
    """Return ``path`` as an output folder to read; ``need`` is the command that would make it.

    ``written`` names folders in it that more is to be written into, which is tried now.

    Raises:
        UsageError: nothing of ours is there, or another version's store, or it cannot be written.
    """
    try:
        ours = (path / MARKER).is_file()
    except OSError as error:
        raise UsageError(
            f"{path} cannot be read: {error.strerror}", hint="look at its permissions"
        ) from error
    if not ours:
        raise UsageError(f"{path} holds no output of nsysflow", hint=_where_else(path, need))
    found = _format(path / "store")
    if found is not None and found != STORE_FORMAT:
        raise UsageError(
            f"the store in {path} has format {found}, this nsysflow reads {STORE_FORMAT}",
            hint=_newer_hint(found),
        )
    for folder in written:
        if not (path / folder).is_dir():
            raise UsageError(f"{path / folder} is gone", hint=f"run nsysflow {need} first")
        try:
            _try_writing(path / folder)
        except OSError as error:
            hint = "change its permissions, or work on a copy of it"
            raise _unwritable(path / folder, error, hint) from error
    return OutDir(path.absolute())


def _where_else(path: Path, need: str) -> str:
    # The run folder is what every other command was given.
    within = path / FOLDER
    return f"name {within}" if (within / MARKER).is_file() else f"run nsysflow {need} first"


def _try_writing(path: Path) -> None:
    """Raise OSError where a new file cannot be made in the folder or its log not be continued."""
    with _beside(path / MARKER) as made:
        made.touch()
    if (path / LOG).exists():
        with (path / LOG).open("a"):
            pass


def _unwritable(path: Path, error: OSError, hint: str) -> UsageError:
    return UsageError(f"{path} cannot be written: {error.strerror}", hint=hint)


def _refuse_unwritable_name(path: Path) -> None:
    # DuckDB writes the store: it takes UTF-8 only, and a backslash for a folder's end.
    try:
        str(path).encode()
    except UnicodeEncodeError:
        wrong = "bytes that are no UTF-8"
        # The bytes may be sound and only the locale take them for something else.
        name = _utf8(os.fsencode(path))
        if name is not None:
            raise UsageError(
                f"the locale here is not UTF-8: no store can be written to {name}",
                hint="set LC_ALL=C.UTF-8 or PYTHONUTF8=1",
            ) from None
    else:
        if "\\" not in path.as_posix():
            return
        wrong = "a backslash"
    raise UsageError(
        f"the name {path} holds {wrong}: no store can be written there",
        hint="choose another with -o DIR",
    )


def _utf8(name: bytes) -> str | None:
    try:
        return name.decode()
    except UnicodeDecodeError:
        return None


def _refuse_foreign(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is a file", hint="choose another folder with -o DIR")
    if path.is_dir() and any(path.iterdir()) and not (path / MARKER).is_file():
        raise UsageError(
            f"{path} is not empty and was not made by nsysflow", hint="choose another with -o DIR"
        )


def _fit_store(store: Path) -> None:
    found = _format(store)
    if found is not None and found > STORE_FORMAT:
        raise UsageError(
            f"{store} has format {found}, this nsysflow writes {STORE_FORMAT}",
            hint=_newer_hint(found),
        )
    if store.exists() and found != STORE_FORMAT:
        shutil.rmtree(store)
    store.mkdir(exist_ok=True)
    write_text(store / "README", _STORE_README)
    write_text(store / "FORMAT", f"{STORE_FORMAT}\n")


def _newer_hint(found: int) -> str:
    if found > STORE_FORMAT:
        return "a newer nsysflow made it: use that one, or choose another folder with -o DIR"
    return "run nsysflow convert again"


def _format(store: Path) -> int | None:
    try:
        text = (store / "FORMAT").read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None
    return int(text) if text.isdigit() else None


def write_text(path: Path, text: str) -> None:
    """Write UTF-8 so that a reader sees the old file or the whole new one."""
    # A lone surrogate (from a file name) has no UTF-8 form; its escape is valid in JSON.
    write_whole(path, lambda made: made.write_bytes(text.encode("utf-8", "backslashreplace")))


def write_whole(path: Path, fill: Callable[[Path], object]) -> None:
    """Let ``fill`` write a file beside ``path``, then move it there in one step."""
    with _beside(path) as made:
        fill(made)
        made.replace(path)


@contextlib.contextmanager
def _beside(path: Path) -> Iterator[Path]:
    made = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        yield made
    finally:
        made.unlink(missing_ok=True)


def json_text(document: Any) -> str:  # noqa: ANN401 - any JSON value
    """Return the one form of a document: sorted, UTF-8, no NaN, a line per value."""
    return (
        json.dumps(document, sort_keys=True, ensure_ascii=False, allow_nan=False, indent=1) + "\n"
    )
