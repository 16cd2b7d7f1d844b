"""The one file that a command line names as its target: settled before any work is done for it."""

from __future__ import annotations

import os
from collections.abc import Callable
from fnmatch import fnmatch
from pathlib import Path

from nsysflow.errors import UsageError
from nsysflow.find import names
from nsysflow.outdir import LOG, MARKER

SETTINGS = "nsysflow.toml"
# How a database and packed files begin, which no text and no Parquet file does.
_MAGIC = {
    b"SQLite format 3\0": "is a SQLite database, as captures are",
    b"\x1f\x8b": "is packed (gzip), as captures are",
    b"\x28\xb5\x2f\xfd": "is packed (zstd), as captures are",
}
# Captures that are not told by how they begin, or are met in a form that is not read.
_CAPTURES = (".nsys-rep", ".qdrep", names.STREAM_SUFFIX, ".h5", ".arrows")
_REPORT = ("result.json", "rank-*.json", "*.html", MARKER, LOG)
_STORE = "store"
_MOST_HEAD = 64 * 1024
_ANOTHER = "name another file"


def settle(
    file: Path,
    option: str,
    *,
    output: Path | None = None,
    ours: Callable[[str, str], bool],
) -> Path:
    """Return where to write what ``option`` sends to ``file``; links are followed.

    ``output`` is the output folder that the command is about to make. ``ours(name, text)`` tells
    by its name and beginning whether an existing file may be one that was written for this option.

    Raises:
        UsageError: it cannot be written there, or what stands there is not to be lost.
    """
    path = Path(os.path.realpath(file))
    made = Path(os.path.realpath(output)) if output is not None else None
    why = _lost(file, path, made) or _impossible(path, made)
    if why is None and path.exists() and not ours(path.name, _head(path)):
        why = (
            "exists, and nothing tells that nsysflow wrote it",
            f"{_ANOTHER}, or remove it first",
        )
    if why is not None:
        raise UsageError(f"{option} {file}: {why[0]}", hint=why[1])
    return path


def _impossible(path: Path, made: Path | None) -> tuple[str, str] | None:
    """Say why ``path`` cannot be written, and what to do."""
    parent = path.parent
    if made is not None and parent == made and not made.exists():
        return None
    if not parent.is_dir():
        what = "is no folder" if parent.exists() else "does not exist"
        return f"{parent} {what}", f"make the folder, or {_ANOTHER}"
    if not os.access(parent, os.W_OK | os.X_OK):
        return f"the folder {parent} cannot be written", _ANOTHER
    if path.exists() and not os.access(path, os.R_OK | os.W_OK):
        return "it is protected: reading and writing it is not allowed", _ANOTHER
    return None


def _lost(file: Path, path: Path, made: Path | None) -> tuple[str, str] | None:
    """Say what would be lost, or changed that is only read."""
    named = {file.name.lower(), path.name.lower()}
    if path.is_dir():
        return "is a folder", "name a file in it"
    if path.exists() and not path.is_file():
        return "is no regular file", _ANOTHER
    if SETTINGS in named:
        return "the settings are read, never written", _ANOTHER
    if (input_ := _input(path, named)) is not None:
        return f"{input_}; inputs are never written to", _ANOTHER
    if _of_report(path, made):
        return "is a file of a report, which only its own command writes", _ANOTHER
    return None


def _input(path: Path, named: set[str]) -> str | None:
    if _in_parquetdir(path.parent):
        return "lies in a parquetdir export"
    if not path.exists():
        return None
    if any(name.endswith(_CAPTURES) for name in named):
        return "is a capture by its name"
    kinds = [names.kind_of(name) for name in named]
    if any(kind is not None and not kind.vague for kind in kinds):
        return "is a capture by its name"
    head = _bytes(path, 16)
    return next((what for magic, what in _MAGIC.items() if head.startswith(magic)), None)


def _in_parquetdir(folder: Path) -> bool:
    try:
        members = [each.name for each in folder.iterdir()]
    except OSError:
        members = []
    return names.folder_kind(folder.name, members) is not None


def _of_report(path: Path, made: Path | None) -> bool:
    def is_report(folder: Path) -> bool:
        return folder == made or os.path.lexists(folder / MARKER)

    if is_report(path.parent) and any(fnmatch(path.name, pattern) for pattern in _REPORT):
        return True
    return any(each.name == _STORE and is_report(each.parent) for each in path.parents)


def _head(path: Path) -> str:
    return _bytes(path, _MOST_HEAD).decode("utf-8", "replace")


def _bytes(path: Path, most: int) -> bytes:
    try:
        with path.open("rb") as stream:
            return stream.read(most)
    except OSError:
        return b""
