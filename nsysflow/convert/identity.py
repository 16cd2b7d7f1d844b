"""What makes an input the same input: the key under which its store is used again."""

from __future__ import annotations

import hashlib
import json
import re
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import nsysflow
from nsysflow import model
from nsysflow.errors import InputError
from nsysflow.resources import data
from nsysflow.settings import Settings

if TYPE_CHECKING:
    from nsysflow.find import Input

# Hashing a file whole costs a third of a second per 100 MB. Beyond that, a change is told by the
# size, the time of modification to the ns, and blocks spread over the file: only a change that
# keeps the size, forges the time and falls between the blocks would go unseen. A large file that
# was only touched is converted again, which costs time but is never wrong.
_WHOLE_BYTES = 64 << 20
_BLOCK = 1 << 20
_BLOCKS = 32
_STEM_CHARACTERS = 60


def store_key(found: Input, settings: Settings) -> str:
    """Return the key of what converting this input with these settings gives.

    Raises:
        InputError: the input cannot be read.
    """
    parts = [
        nsysflow.__version__,
        model.STORE_FORMAT,
        _program(),
        found.file,
        found.form,
        found.packed,
        _content(found),
        settings.kernel_rules,
    ]
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def trace_folder(found: Input) -> str:
    """Return the name of the input's folder under ``store/``: readable, and unique in the run."""
    from nsysflow.find import trace_stem  # noqa: PLC0415 - find stands beside, not below

    stem = re.sub(r"[^A-Za-z0-9._-]+", "_", trace_stem(found.file))[:_STEM_CHARACTERS].strip(".")
    digest = hashlib.sha256(found.file.encode("utf-8", "surrogateescape")).hexdigest()
    return f"{stem or 'trace'}-{digest[:8]}"


def _content(found: Input) -> list[tuple[str, str]]:
    try:
        if not found.path.is_dir():
            return [("", _digest(found.path))]
        members = sorted(path for path in found.path.iterdir() if path.is_file())
        return [(path.name, _digest(path)) for path in members]
    except OSError as error:
        raise InputError(
            f"{found.file}: cannot be read: {error.strerror}",
            stage="open",
            hint="check its permissions and the disk",
        ) from error


def _digest(path: Path) -> str:
    stat = path.stat()
    with path.open("rb") as stream:
        if stat.st_size <= _WHOLE_BYTES:
            return hashlib.file_digest(stream, "sha256").hexdigest()
        digest = hashlib.sha256(f"{stat.st_size} {stat.st_mtime_ns}".encode())
        last = stat.st_size - _BLOCK
        for number in range(_BLOCKS):
            stream.seek(last * number // (_BLOCKS - 1))
            digest.update(stream.read(_BLOCK))
        return digest.hexdigest()


@cache
def _program() -> str:
    """Return a digest of the code that converts, whatever the version says."""
    digest = hashlib.sha256()
    package = Path(__file__).parent.parent
    sources = [*package.glob("read/*.py"), *package.glob("convert/*.py")]
    for path in sorted(sources):
        digest.update(path.read_bytes())
    for folder in ("convert", "macros"):
        for entry in sorted(data("sql", folder).iterdir(), key=lambda item: item.name):
            digest.update(entry.read_bytes())
    return digest.hexdigest()
