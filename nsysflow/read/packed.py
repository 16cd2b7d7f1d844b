"""Unpack ``.gz`` and ``.zst`` into the scratch folder, in pieces and with an eye on the disk."""

from __future__ import annotations

import gzip
import shutil
import tarfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, BinaryIO

import zstandard

from nsysflow.errors import InputError

_PIECE = 1 << 20
# What must stay free, so that a file that unpacks without end stops before the disk is full.
_RESERVE = 256 << 20
_CHECK_EVERY = 64
_MAGIC = {"gz": b"\x1f\x8b", "zst": b"\x28\xb5\x2f\xfd"}


def unpack(packed: Path, target: Path, kind: str, file: str) -> None:
    """Unpack one file.

    Raises:
        InputError: it is not what its name says, is cut short, or does not fit the disk.
    """
    try:
        with packed.open("rb") as source:
            if source.read(len(_MAGIC[kind])) != _MAGIC[kind]:
                raise InputError(
                    f"{file}: is not {'gzip' if kind == 'gz' else 'zstandard'} data",
                    stage="open",
                    hint="give the file its own name, or pack it again",
                )
            source.seek(0)
            pieces = _gzip(source) if kind == "gz" else _zstd(source)
            _write(pieces, target, file)
    except (EOFError, zlib.error, zstandard.ZstdError, gzip.BadGzipFile) as error:
        raise InputError(
            f"{file}: cannot be unpacked: {error}", stage="open", hint="copy or pack it again"
        ) from error
    except OSError as error:
        raise InputError(
            f"{file}: cannot be unpacked into {target.parent}: {error.strerror or error}",
            stage="open",
            hint="make room there or set TMPDIR to another disk",
        ) from error


def unpack_tar(archive: Path, target: Path, file: str) -> None:
    """Take the Parquet files out of a tar, whatever their folder in it, into ``target``.

    Raises:
        InputError: it is no tar, or does not fit the disk.
    """
    target.mkdir()
    try:
        with tarfile.open(archive, "r:") as content:
            for member in content:
                name = Path(member.name).name
                stream = content.extractfile(member) if member.isfile() else None
                if stream is not None and name.endswith(".parquet"):
                    _write(_pieces(stream), target / name, file)
    except (tarfile.TarError, EOFError) as error:
        raise InputError(
            f"{file}: holds no whole tar: {error}", stage="open", hint="copy or pack it again"
        ) from error


def _pieces(stream: IO[bytes] | gzip.GzipFile) -> Iterator[bytes]:
    while piece := stream.read(_PIECE):
        yield piece


def _gzip(source: BinaryIO) -> Iterator[bytes]:
    with gzip.GzipFile(fileobj=source) as stream:
        yield from _pieces(stream)


def _zstd(source: BinaryIO) -> Iterator[bytes]:
    # The library's own reader takes a frame that is cut short for a whole one.
    frame = zstandard.ZstdDecompressor().decompressobj()
    begun = False
    while waiting := source.read(_PIECE // 16):
        while waiting:
            begun = True
            piece = frame.decompress(waiting)
            if piece:
                yield piece
            waiting = b""
            if frame.eof:
                waiting = frame.unused_data
                frame = zstandard.ZstdDecompressor().decompressobj()
                begun = False
    if begun:
        raise EOFError("the compressed data ends too early")


def _write(pieces: Iterator[bytes], target: Path, file: str) -> None:
    with target.open("wb") as out:
        for number, piece in enumerate(pieces):
            if number % _CHECK_EVERY == 0 and shutil.disk_usage(target.parent).free < _RESERVE:
                raise InputError(
                    f"{file}: no room to unpack it in {target.parent}",
                    stage="open",
                    hint="make room there or set TMPDIR to another disk",
                )
            out.write(piece)
