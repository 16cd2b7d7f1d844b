"""Sort names the way people count: rank2 before rank10."""

from __future__ import annotations

import re

_DIGITS = re.compile(r"([0-9]+)")

Key = tuple[tuple[tuple[tuple[int, int, str], ...], ...], str]


def natural_key(path: str) -> Key:
    """Return a sort key under which runs of digits compare as numbers, folder by folder.

    The order is total: ties end in the text itself.
    """
    return tuple(_part_key(part) for part in path.split("/")), path


def _part_key(part: str) -> tuple[tuple[int, int, str], ...]:
    # Text and number alternate; a tag in front keeps the two from ever being compared.
    return tuple(
        (1, int(piece), "") if index % 2 else (0, 0, piece.lower())
        for index, piece in enumerate(_DIGITS.split(part))
    )
