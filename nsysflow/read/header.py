"""Tell what a file really is by its first bytes, before anything reads it as a database."""

from __future__ import annotations

from pathlib import Path

from nsysflow.errors import InputError

SQLITE = b"SQLite format 3\x00"
_KNOWN = {
    b"\x1f\x8b": "gzip data",
    b"\x28\xb5\x2f\xfd": "zstandard data",
    b"PAR1": "a Parquet file",
    b"\x89HDF": "an HDF5 file",
    b"PK\x03\x04": "a zip archive",
    b"QDSTRM": "an unfinished .qdstrm capture",
    b"<": "text or markup",
    b"{": "JSON text",
}
_WAL_MODE = 2
_JOURNAL = b"\xd9\xd5\x05\xf9\x20\xa1\x63\xd7"
_HEADER_BYTES = 100


def check_sqlite(path: Path, file: str) -> None:
    """Check that ``path`` is a whole SQLite database that nothing is still writing.

    Raises:
        InputError: it is something else, cut short, or has changes beside it.
    """
    header, size = _start(path, file)
    if not header.startswith(SQLITE):
        raise _not(file, "a SQLite database", header, size)
    if len(header) < _HEADER_BYTES:
        raise _broken(file, f"is cut short: {size} bytes")
    page = int.from_bytes(header[16:18], "big")
    page = 65_536 if page == 1 else page
    pages = int.from_bytes(header[28:32], "big")
    # The page count holds only where the two change counters agree.
    if header[24:28] == header[92:96] and page * pages > size:
        raise _broken(file, f"is cut short: {size} of {page * pages} bytes")
    if header[18] == _WAL_MODE or header[19] == _WAL_MODE:
        _refuse_beside(path, file, "-wal", b"")
    _refuse_beside(path, file, "-journal", _JOURNAL)


def check_report(path: Path, file: str) -> None:
    """Check that ``path`` can be a report: not empty, and no export under a report's name.

    Raises:
        InputError: it cannot.
    """
    header, size = _start(path, file)
    if header.startswith(SQLITE):
        raise InputError(
            f"{file}: is a SQLite export under a report's name",
            stage="open",
            hint="rename it to .sqlite",
        )
    # Zeros are left to nsys, whose own words say more.
    if not size or _known(header):
        raise _not(file, "an Nsight Systems report", header, size)


def _start(path: Path, file: str) -> tuple[bytes, int]:
    try:
        with path.open("rb") as stream:
            return stream.read(_HEADER_BYTES), path.stat().st_size
    except IsADirectoryError as error:
        raise InputError(
            f"{file}: is a folder, not a file", stage="open", hint="remove or rename it"
        ) from error
    except OSError as error:
        raise InputError(
            f"{file}: cannot be read: {error.strerror}",
            stage="open",
            hint="check its permissions and the disk",
        ) from error


def _known(header: bytes) -> str | None:
    return next((what for magic, what in _KNOWN.items() if header.startswith(magic)), None)


def _not(file: str, wanted: str, header: bytes, size: int) -> InputError:
    if not size:
        return _broken(file, "is empty")
    if not header.strip(b"\x00"):
        return _broken(file, "holds only zeros")
    known = _known(header)
    hint = "rename it to .nsys-rep if it is a report, or export it again"
    if known or "report" in wanted:
        hint = "give the file its own name, or export it again"
    return InputError(
        f"{file}: is not {wanted}" + (f" but {known}" if known else ""), stage="open", hint=hint
    )


def _broken(file: str, what: str) -> InputError:
    return InputError(f"{file}: {what}", stage="open", hint="copy or export it again")


def _refuse_beside(path: Path, file: str, suffix: str, magic: bytes) -> None:
    beside = path.with_name(path.name + suffix)
    try:
        with beside.open("rb") as stream:
            begins = stream.read(max(len(magic), 1))
    except OSError:
        return
    if begins and begins.startswith(magic):
        raise InputError(
            f"{file}: has changes in {beside.name} that are not yet part of it",
            stage="open",
            hint="close the program that has it open, or copy both files and run"
            " `PRAGMA wal_checkpoint(TRUNCATE)` on the copy",
        )
