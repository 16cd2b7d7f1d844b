"""One input, opened: its raw tables as DuckDB views, whatever form it has."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from nsysflow.errors import InputError
from nsysflow.read.header import check_report, check_sqlite
from nsysflow.read.packed import unpack, unpack_tar
from nsysflow.read.parquetdir import ParquetTrace
from nsysflow.read.raw import Field, Only, RawTrace, Request, View, blob, integer, text
from nsysflow.read.sqlite import SqliteTrace

if TYPE_CHECKING:
    from nsysflow.find import Input

__all__ = ["Field", "Only", "RawTrace", "Request", "View", "blob", "integer", "open_raw", "text"]


@contextlib.contextmanager
def open_raw(
    found: Input, workdir: Path, nsys: str | None = None, threads: int = 1
) -> Iterator[RawTrace]:
    """Open an input for reading. It is never touched; what must be unpacked goes to ``workdir``.

    Raises:
        InputError: it cannot be read; one line with the reason.
    """
    path, form = _plain(found, workdir), found.form
    if form == "nsys-rep":
        from nsysflow import nsys as program  # noqa: PLC0415 - needed for reports only

        check_report(path, found.file)
        path = program.export(path, workdir / "export", nsys)
        form = "parquetdir" if path.is_dir() else "sqlite"
    if form == "parquetdir":
        yield ParquetTrace(path, found.file)
        return
    check_sqlite(path, found.file)
    yield SqliteTrace(path, found.file, threads)


def _plain(found: Input, workdir: Path) -> Path:
    """Return where the input lies unpacked."""
    if found.packed is None:
        return found.path
    if found.form != "parquetdir":
        target = workdir / re.sub(r"\.(gz|zst)$", "", found.path.name, flags=re.IGNORECASE)
        unpack(found.path, target, found.packed, found.file)
        return target
    folder = workdir / "unpacked"
    if found.path.is_file():
        archive = workdir / "unpacked.tar"
        unpack(found.path, archive, found.packed, found.file)
        unpack_tar(archive, folder, found.file)
        archive.unlink()
        return folder
    folder.mkdir()
    try:
        members = sorted(found.path.glob(f"*.parquet.{found.packed}"))
    except OSError as error:
        raise InputError(
            f"{found.file}: cannot be read: {error.strerror}",
            stage="open",
            hint="check its permissions",
        ) from error
    for member in members:
        unpack(member, folder / member.stem, found.packed, f"{found.file}/{member.name}")
    return folder
