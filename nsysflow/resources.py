"""Find the files that ship with the code: ``sql/`` and ``reports/``, and tables of a package."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path


def data(*parts: str) -> Traversable:
    """Return a file or folder below the shipped data, in a wheel, a zip or a checkout."""
    packaged = files("nsysflow") / "_data"
    root: Traversable = packaged if packaged.is_dir() else Path(__file__).parent.parent
    return root.joinpath(*parts)


def beside(package: str, name: str) -> Traversable:
    """Return a file that lies beside the code of a package."""
    return files(package).joinpath(name)


def walk(*parts: str) -> Iterator[tuple[str, bytes]]:
    """Yield (path below the shipped data, content) of every file in a folder, sorted."""
    for entry in sorted(data(*parts).iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from walk(*parts, entry.name)
        else:
            yield "/".join([*parts, entry.name]), entry.read_bytes()
