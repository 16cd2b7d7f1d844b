"""Text out of a trace: bytes that somebody once called text."""

from __future__ import annotations

import pyarrow as pa


def readable(column: pa.Array) -> tuple[pa.Array, int]:
    """Return ``column``, of bytes or strings, as valid UTF-8, and how many values were not."""
    if pa.types.is_null(column.type):
        return pa.nulls(len(column), pa.string()), 0
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        # A cast from bytes checks every value; one from string to string would not.
        return _as_bytes(column).cast(pa.string()), 0
    except pa.ArrowInvalid:
        return _decoded(_as_bytes(column))


def _as_bytes(column: pa.Array) -> pa.Array:
    if pa.types.is_string(column.type):
        return column.view(pa.binary())
    if pa.types.is_large_string(column.type):
        return column.view(pa.large_binary())
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return column
    return column.cast(pa.string()).view(pa.binary())


def _decoded(column: pa.Array) -> tuple[pa.Array, int]:
    raw = column.to_pylist()
    values = [None if value is None else value.decode("utf-8", "replace") for value in raw]
    wrong = sum(
        value is not None and value.encode("utf-8") != was
        for value, was in zip(values, raw, strict=True)
    )
    return pa.array(values, pa.string()), wrong
