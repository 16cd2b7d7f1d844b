"""Decode what NVTX ranges carry: binary payloads by their schemas, or the same as JSON."""

from __future__ import annotations

import json
import struct
from collections.abc import Iterable, Mapping
from typing import Any

# nvtxPayloadEntryType -> how it is packed. Larger numbers name another schema or an enum.
_PACKED = {
    1: "b", 2: "B", 3: "h", 4: "H", 5: "i", 6: "I", 7: "q", 8: "Q", 9: "q", 10: "Q",
    11: "b", 12: "B", 13: "h", 14: "H", 15: "i", 16: "I", 17: "q", 18: "Q", 19: "f", 20: "d",
    22: "Q", 23: "Q",
}  # fmt: skip
_HEADER = struct.Struct("<4Q")
_MOST_BYTES = 1 << 16

Schemas = dict[tuple[int, int], list[tuple[str, str, int]]]


def schemas(entries: Iterable[Mapping[str, Any]]) -> Schemas:
    """Return (domain, schema) -> (field name, packing, offset), from NVTX_PAYLOAD_SCHEMA_ENTRIES.

    Rows repeat once per process; a field that two processes place differently is left out.
    """
    places: dict[tuple[int, int], dict[str, set[tuple[str, int]]]] = {}
    for entry in entries:
        name, packing = entry["name"], _PACKED.get(entry["type"] or 0)
        if name and packing:
            key = (entry["domain"] or 0, entry["schema"] or 0)
            place = places.setdefault(key, {}).setdefault(name, set())
            place.add((packing, entry["offset"] or 0))
    return {
        key: [(name, *next(iter(seen))) for name, seen in sorted(fields.items()) if len(seen) == 1]
        for key, fields in places.items()
    }


def binary(cell: bytes | None, known: Schemas) -> dict[str, Any]:
    """Return the fields of one binary payload, empty if it cannot be told.

    The cell is a blob or its hex text: four 64-bit numbers (domain, schema, size, offset), then
    the payload.
    """
    raw = _blob(cell)
    if len(raw) < _HEADER.size:
        return {}
    domain, schema, size, offset = _HEADER.unpack_from(raw)
    content = raw[offset : offset + size] if offset + size <= len(raw) else b""
    fields = {}
    for name, packing, at in known.get((domain, schema), ()):
        if at >= 0 and at + struct.calcsize(packing) <= len(content):
            fields[name] = struct.unpack_from(f"<{packing}", content, at)[0]
    return fields


def from_json(cell: str | None) -> dict[str, Any]:
    """Return the fields of one JSON payload, empty if it is none."""
    if not cell or len(cell) > _MOST_BYTES:
        return {}
    try:
        content = json.loads(cell)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _blob(cell: bytes | None) -> bytes:
    if not cell or len(cell) > _MOST_BYTES:
        return b""
    try:
        return bytes.fromhex(cell.decode("ascii").removeprefix("0x"))
    except ValueError:
        return cell


def whole(value: object, bits: int = 63) -> int | None:
    """Return a field as an integer that fits, None if it is none."""
    try:
        number = int(value, 0) if isinstance(value, str) else int(value)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        return None
    return number if -(1 << bits) <= number < 1 << bits else None
