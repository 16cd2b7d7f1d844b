"""Numbers and names as the pages write them: units, decimals, signs, and text made safe to show."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise

NARROW = "\u202f"
MINUS = "\u2212"
_US, _MS, _S = 1_000, 1_000_000, 1_000_000_000
# Beyond this ratio one shared unit would show either zeros or seven digits.
_DECADES = 1_000
_SIZES = ((10**12, "TB"), (10**9, "GB"), (10**6, "MB"), (10**3, "kB"))
NAME_LIMIT = 512
_MOST_RANGES = 5


@dataclass(frozen=True)
class Unit:
    """How a whole column of durations is written: ``ns`` per unit, its name, its decimals."""

    ns: int
    name: str
    decimals: int

    def text(self, value_ns: int) -> str:
        """Write a duration in this unit, without the unit's name."""
        return _signed(value_ns / self.ns, self.decimals) if value_ns else "0"


def _signed(value: float, decimals: int) -> str:
    text = f"{abs(value):,.{decimals}f}"
    return MINUS + text if value < 0 and float(text.replace(",", "")) else text


# The limits are half a last digit early, so that 9.996 ms does not become 10.00 ms.
_STEPS = (
    (10 * _S, Unit(_S, "s", 1)),
    (9_995_000, Unit(_MS, "ms", 1)),
    (999_500, Unit(_MS, "ms", 2)),
    (9_950, Unit(_US, "µs", 0)),
)
_FINEST = Unit(_US, "µs", 1)


def _duration_unit(value_ns: int) -> Unit:
    size = abs(value_ns)
    for least, unit in _STEPS:
        if size >= least:
            return unit
    return _FINEST


def duration(value_ns: int) -> str:
    """Write a duration for running text: ``910.2 ms``, ``4.50 ms``, ``87 µs``, ``0``."""
    if not value_ns:
        return "0"
    unit = _duration_unit(value_ns)
    if abs(value_ns) < 50:  # noqa: PLR2004 - half of the smallest digit shown, 0.1 µs
        return f"<0.1{NARROW}µs"
    return f"{unit.text(value_ns)}{NARROW}{unit.name}"


def spread(low_ns: int, high_ns: int) -> str:
    """Write a range with its unit once: ``884.1 – 951.7 ms``."""
    unit = _duration_unit(high_ns or low_ns)
    low, high = unit.text(low_ns), unit.text(high_ns)
    # Ends that differ by less than the last digit would read as a mistake.
    if low == high:
        return duration(high_ns)
    return f"{low} – {high}{NARROW}{unit.name}"


def column_unit(values_ns: Sequence[int]) -> Unit | None:
    """Return the one unit for a column, or None where the values span over three decades."""
    sizes = sorted(abs(value) for value in values_ns if value)
    if not sizes or sizes[-1] > sizes[0] * _DECADES:
        return None
    low, high = sizes[0], sizes[-1]
    if high >= 10 * _S:
        return Unit(_S, "s", 1 if low >= _S // 2 else 2)
    if high < _MS or (high < 10 * _MS and low < _MS // 10):
        return Unit(_US, "µs", 0 if low >= 10 * _US else 1)
    return Unit(_MS, "ms", 1 if low >= _MS // 2 else 2 if low >= _MS // 20 else 3)


def share(frac: float) -> str:
    """Write a share of 1 as per cent, never rounding something to nothing or to everything."""
    if frac == 0:
        return f"0{NARROW}%"
    if 0 < frac < 0.0005:  # noqa: PLR2004 - would print as 0.0
        return f"<0.1{NARROW}%"
    if 0.9995 <= frac < 1:  # noqa: PLR2004 - would print as 100.0
        return f">99.9{NARROW}%"
    return f"{_signed(frac * 100, 1)}{NARROW}%"


def ratio(part: int, whole: int) -> float:
    """Return part / whole, 0.0 for an empty whole."""
    return part / whole if whole else 0.0


def count(value: int) -> str:
    """Write an exact count with thousands."""
    return _signed(value, 0)


def some(number: int, noun: str) -> str:
    """Write a count with its noun in the right number."""
    return f"{count(number)} {noun}{'' if number == 1 else 's'}"


def sentence(text: str) -> str:
    """Begin a text with a capital letter."""
    return text[:1].upper() + text[1:]


def decimal(value: float) -> str:
    """Write a plain number with at most two decimals."""
    return _signed(value, 2).rstrip("0").rstrip(".") if value else "0"


def _three_digits(value: float) -> str:
    size = abs(value)
    places = 0 if size >= 99.95 else 1 if size >= 9.995 else 2  # noqa: PLR2004 - three digits
    return _signed(value, places)


def size(value_bytes: int) -> str:
    """Write bytes in decimal units, three significant digits."""
    for factor, name in _SIZES:
        if abs(value_bytes) >= factor:
            return f"{_three_digits(value_bytes / factor)}{NARROW}{name}"
    return f"{count(value_bytes)}{NARROW}B"


def rate(bytes_per_s: float) -> str:
    """Write a bandwidth."""
    return f"{size(int(bytes_per_s))}/s"


def two_digits(value_ns: int) -> str:
    """Write a residual or clock offset with two significant digits."""
    if not value_ns:
        return "0"
    unit = _duration_unit(value_ns)
    scaled = abs(value_ns) / unit.ns
    places = 1 if scaled < 10 else 0  # noqa: PLR2004 - the second digit
    return f"{_signed(value_ns / unit.ns, places)}{NARROW}{unit.name}"


def utc(value_ns: int) -> str:
    """Write a UTC time stamp as ISO 8601, whole seconds; a clock out of range stays a number."""
    try:
        moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=value_ns // _S)
    except OverflowError:
        return f"{value_ns} ns"
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def numbers(values: Sequence[int]) -> str:
    """Write a set of integers as ranges: ``16–23, 41``."""
    parts: list[list[int]] = []
    for value in sorted(set(values)):
        if parts and value == parts[-1][1] + 1:
            parts[-1][1] = value
        else:
            parts.append([value, value])
    if len(parts) > _MOST_RANGES:
        return _series([a for a, _ in parts], parts[-1][1], len(set(values)))
    return ", ".join(str(a) if a == b else f"{a}–{b}" for a, b in parts)


def _series(starts: Sequence[int], last: int, number: int) -> str:
    """Write a long set in short: an even series by its first two and last, else by its ends."""
    step = starts[1] - starts[0]
    even = len(starts) == number and all(b - a == step for a, b in pairwise(starts))
    if even:
        return f"{starts[0]}, {starts[1]} … {last}"
    return f"{starts[0]} – {last}, {count(number)} of them"


# HTML cannot carry NUL, turns CR into LF, and UTF-8 cannot carry half a surrogate pair; an
# override of the writing direction would show another name than the one that is there.
_UNSHOWABLE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)
_BIDI = re.compile("[\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def _visible(match: re.Match[str]) -> str:
    code = ord(match.group())
    if code < 0x20:  # noqa: PLR2004 - the C0 block has pictures of its own
        return chr(0x2400 + code)
    return "\u2421" if code == 0x7F else f"\\u{code:04x}"  # noqa: PLR2004 - DEL


def clean(text: str) -> str:
    """Make the characters visible that a page cannot carry or that deceive; others stay."""
    return _UNSHOWABLE.sub(_visible, text)


def one_line(text: str) -> str:
    """As ``clean``, for the window title: without line breaks and direction marks."""
    return _BIDI.sub("", clean(" ".join(text.split())))


def shorten(text: str, limit: int = NAME_LIMIT) -> str:
    """Cut the middle out of a long text, where names differ least."""
    if len(text) <= limit:
        return text
    head = (limit - 1) * 2 // 3
    return f"{text[:head]}…{text[len(text) - (limit - 1 - head) :]}"


def anchor(prefix: str, text: str) -> str:
    """Return an id that is a plain word whatever the text holds; equal texts, equal ids."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,60}", text):
        return f"{prefix}-{text}"
    digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}-{digest[:10]}"
