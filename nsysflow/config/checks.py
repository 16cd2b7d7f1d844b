"""Checks of single values. Each says where the value stands: ``nsysflow.toml: [model] dtype``."""

from __future__ import annotations

import difflib
import math
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from nsysflow.errors import UsageError
from nsysflow.options import size_bytes
from nsysflow.pattern import check_group, check_pattern


def known_keys(values: Mapping[str, Any], keys: Collection[str], where: str) -> None:
    """Raise UsageError for a key that is not one of ``keys``, naming the nearest that is."""
    for key in values:
        if key in keys:
            continue
        near = difflib.get_close_matches(key.lower(), sorted(keys), n=1, cutoff=0.5)
        hint = f"did you mean {near[0]}?" if near else f"known: {', '.join(sorted(keys))}"
        raise UsageError(f"{where}: there is no {key!r}", hint=hint)


def table(value: object, where: str, hint: str) -> dict[str, Any]:
    """Return a table."""
    if not isinstance(value, dict):
        raise UsageError(f"{where} is {_shown(value)}, not a table", hint=hint)
    return value


def text(value: object, where: str) -> str:
    """Return a text that is not empty."""
    if not isinstance(value, str) or not value:
        raise _wrong(value, where, "a text")
    return value


def choice(value: object, where: str, allowed: Collection[str]) -> str:
    """Return a text that is one of ``allowed``."""
    if not isinstance(value, str) or value not in allowed:
        raise _wrong(value, where, f"one of {', '.join(allowed)}")
    return value


def truth(value: object, where: str) -> bool:
    """Return true or false."""
    if not isinstance(value, bool):
        raise _wrong(value, where, "true or false")
    return value


def number(value: object, where: str, *, least: float = 0) -> float | int:
    """Return a finite number of at least ``least``, a whole one as int."""
    # In Python true is a number; to a person it is none.
    if isinstance(value, bool) or not isinstance(value, int | float) or not _is_finite(value):
        raise _wrong(value, where, "a number")
    if value < least:
        raise _wrong(value, where, f"at least {least:g}")
    return int(value) if value == int(value) else value


def whole(value: object, where: str, *, least: int = 0) -> int:
    """Return a whole number of at least ``least``; 8.0 and 1e6 are whole."""
    found = number(value, where, least=least)
    if isinstance(found, float):
        raise _wrong(value, where, "a whole number")
    return found


def seconds(value: object, where: str) -> float:
    """Return seconds on the capture's clock, which may be negative."""
    return float(number(value, where, least=-math.inf))


def size(value: object, where: str) -> int:
    """Return bytes, at least one: ``8GB``, ``512MiB`` or a number."""
    try:
        found = size_bytes(value) if isinstance(value, str) else whole(value, where)
    except ValueError as error:
        raise _wrong(value, where, "a size such as 8GB or 512MiB") from error
    if found < 1:
        raise _wrong(value, where, "a size above zero")
    return found


def pattern(value: object, where: str) -> str:
    """Return an RE2 pattern."""
    return check_pattern(text(value, where), where)


def capturing(value: object, where: str) -> str:
    """Return an RE2 pattern with a group."""
    return check_group(text(value, where), where)


def patterns(value: object, where: str) -> list[str]:
    """Return the RE2 patterns of a text or a list of texts."""
    items = value if isinstance(value, list) else [value]
    return [pattern(item, where) for item in items]


def path(value: object, where: str, folder: Path) -> Path:
    """Return a path; a relative one starts where the file lies that names it."""
    found = text(value, where)
    if "\0" in found:
        raise _wrong(value, where, "a path")
    try:
        return folder / Path(found).expanduser()
    except RuntimeError as error:  # ~name of a person who is not known here
        raise _wrong(value, where, "a path") from error


def _is_finite(value: float) -> bool:
    try:
        return math.isfinite(value)
    except OverflowError:  # a whole number with hundreds of digits
        return False


def _wrong(value: object, where: str, wanted: str) -> UsageError:
    return UsageError(f"{where} is {_shown(value)}, not {wanted}")


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:57] + "..."  # noqa: PLR2004 - fits a line
