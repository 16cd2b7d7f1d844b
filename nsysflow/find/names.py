"""What the name of a file says about it, before anything is opened."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Literal

Form = Literal["sqlite", "parquetdir", "nsys-rep"]
Packed = Literal["gz", "zst"]

MARKER = ".nsysflow"
STREAM_SUFFIX = ".qdstrm"
FOLDER_SUFFIX = "_pqtdir"

_PACKED: dict[str, Packed] = {".gz": "gz", ".zst": "zst"}
# .qdrep is what reports were called until 2021; nsys still exports it.
_FORMS: dict[str, Form] = {".sqlite": "sqlite", ".nsys-rep": "nsys-rep", ".qdrep": "nsys-rep"}
# Any program may use these names, so such a file counts only if its content says nsys.
_VAGUE = (".sqlite3", ".db")
_TABLE_PREFIXES = ("META_DATA_", "CUPTI_ACTIVITY_KIND_", "TARGET_INFO_", "ENUM_")
_TABLES = ("StringIds", "NVTX_EVENTS", "OSRT_API", "PROCESSES", "ThreadNames")
# Exports that nsys can write and this tool does not read; worth a word where nothing else is met.
OTHER_EXPORTS = (".h5", ".arrows", "_arwdir", ".jsonl")


@dataclass(frozen=True)
class Kind:
    """The form a name promises. ``vague``: the name alone is not enough to believe it."""

    form: Form
    packed: Packed | None
    stem: str
    vague: bool = False


def kind_of(name: str) -> Kind | None:
    """Return what a file of this name is, or None if it is no trace."""
    base, packed = _unpacked(name)
    root, suffix = os.path.splitext(base)  # noqa: PTH122 - a name, perhaps with odd bytes, no path
    suffix = suffix.lower()
    if suffix in _FORMS:
        return Kind(_FORMS[suffix], packed, root)
    if packed is None and suffix in _VAGUE:
        return Kind("sqlite", None, root, vague=True)
    folder = root if packed and suffix == ".tar" else base
    if packed and folder.endswith(FOLDER_SUFFIX):
        return Kind("parquetdir", packed, folder.removesuffix(FOLDER_SUFFIX))
    return None


def folder_kind(name: str, members: list[str]) -> Kind | None:
    """Return the kind of a folder with these members, or None if it is no parquetdir."""
    packings = {packed for member in members for packed in [_table_packing(member)] if packed}
    if not packings and not name.endswith(FOLDER_SUFFIX):
        return None
    packed = None if "plain" in packings or not packings else min(packings)
    return Kind("parquetdir", _PACKED.get(f".{packed}"), name.removesuffix(FOLDER_SUFFIX))


def trace_stem(file: str) -> str:
    """Return the last part of a path without folder, form and packing: ``a/b.sqlite.gz`` -> b."""
    name = file.rsplit("/", 1)[-1]
    kind = kind_of(name)
    if kind is not None:
        return kind.stem
    return name.removesuffix(STREAM_SUFFIX).removesuffix(FOLDER_SUFFIX)


def _unpacked(name: str) -> tuple[str, Packed | None]:
    base, suffix = os.path.splitext(name)  # noqa: PTH122 - see kind_of
    if suffix.lower() == ".tgz":
        return f"{base}.tar", "gz"
    packed = _PACKED.get(suffix.lower())
    return (base, packed) if packed else (name, None)


def _table_packing(member: str) -> str | None:
    base, packed = _unpacked(member)
    table = base.removesuffix(".parquet")
    if table == base or not (table in _TABLES or table.startswith(_TABLE_PREFIXES)):
        return None
    return packed or "plain"
