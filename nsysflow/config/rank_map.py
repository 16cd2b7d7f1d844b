"""Read a rank map: TOML, JSON, or lines of ``file rank``."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nsysflow.config import checks
from nsysflow.errors import UsageError

Pairs = tuple[tuple[str, int], ...]

_LINE = re.compile(
    r"""\s*(?:"([^"]+)"|'([^']+)'|(?P<plain>.+?))\s*[\s,=:]\s*(?P<rank>[0-9]{1,9})\s*"""
)
_MOST_RANKS = 10_000_000


def read(path: Path) -> Pairs:
    """Return the (file, rank) pairs of a map file, sorted.

    Raises UsageError for a file that cannot be read or says one thing twice.
    """
    where = str(path)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise UsageError(f"the rank map {where} cannot be read: {reason}") from error
    found = _document(text)
    return _lines(text, where) if found is None else from_table(found, where)


def from_table(values: Mapping[str, Any], where: str) -> Pairs:
    """Return the pairs of a table ``"file" = rank``, sorted."""
    return tuple(sorted((key, _rank(value, f"{where}: {key!r}")) for key, value in values.items()))


def _document(text: str) -> dict[str, Any] | None:
    """Return what TOML or JSON says, None if it is neither."""
    for load in (tomllib.loads, json.loads):
        try:
            found = load(text)
        except (ValueError, RecursionError):
            continue
        if isinstance(found, dict):
            return _flat(found)
    return None


def _flat(document: dict[str, Any]) -> dict[str, Any]:
    """Return the map itself if it is wrapped as in nsysflow.toml, and undo dots in bare keys."""
    ranks = document.get("ranks")
    if isinstance(ranks, dict) and isinstance(ranks.get("map"), dict):
        return _flat(ranks["map"])
    flat: dict[str, Any] = {}
    for key, value in document.items():
        # TOML reads  rank0.sqlite = 0  as a table: without quotes the dot is no part of the name.
        inner = _flat(value) if isinstance(value, dict) else {"": value}
        flat |= {f"{key}.{rest}" if rest else key: found for rest, found in inner.items()}
    return flat


def _lines(text: str, where: str) -> Pairs:
    pairs: dict[str, int] = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip()[0] == "#" or line.strip() == "file,rank":
            continue
        match = _LINE.fullmatch(line)
        if match is None:
            raise UsageError(
                f"the rank map {where}, line {number}: {line.strip()[:80]!r} is no file and rank",
                hint='write "path/file.sqlite" = 0, one per line',
            )
        file = match[1] or match[2] or match["plain"]
        if file in pairs:
            raise UsageError(f"the rank map {where}, line {number}: {file!r} is there twice")
        pairs[file] = _rank(int(match["rank"]), f"{where}, line {number}")
    return tuple(sorted(pairs.items()))


def _rank(value: object, where: str) -> int:
    rank = checks.whole(value, where)
    if rank >= _MOST_RANKS:
        raise UsageError(f"{where}: {rank} is no rank")
    return rank
