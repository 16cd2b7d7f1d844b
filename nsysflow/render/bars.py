"""Bars of 100 %: where each segment lies, and what is written on it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from nsysflow.render import units
from nsysflow.render.words import Word

# Widths that a label needs, in shares of the bar: of 1,152 px on a desk, of 362 px on a phone.
_WIDE_CHARACTER = 7.6 / 1152
_NARROW_LABEL = 0.13
_LETTER_SHARE = 0.03
_SHARE_ALONE = 0.045


@dataclass(frozen=True)
class Segment:
    """One piece of a bar; ``x`` and ``width`` in per cent, as SVG writes them."""

    css: str
    x: str
    width: str
    title: str
    label: str = ""
    narrow: str = ""
    middle: str = "0"
    on: str = ""
    letter: str = ""


@dataclass(frozen=True)
class Part:
    """What a segment stands for: a word and its nanoseconds."""

    word: Word
    ns: int


@dataclass(frozen=True)
class Legend:
    """One entry below a bar."""

    css: str
    label: str
    letter: str
    amount: str
    share: str


def percent(frac: float) -> str:
    """Write a coordinate for SVG, in per cent of the drawing."""
    return f"{100 * frac:.3f}".rstrip("0").rstrip(".") + "%"


def stack(
    parts: Iterable[Part], total_ns: int, *, n: int = 1, labels: bool = True, named: bool = True
) -> list[Segment]:
    """Lay the parts side by side over ``total_ns``; parts without time are left out.

    ``n`` is how many steps the parts are sums of: what is written is their average. ``named``: a
    legend names the fills, so that a share can stand alone where no more has room.
    """
    segments = []
    done = 0
    for part in parts:
        if part.ns <= 0:
            continue
        frac = units.ratio(part.ns, total_ns)
        text = _label(part, frac, named=named) if labels else ""
        narrow = units.share(frac) if labels and frac >= _NARROW_LABEL else ""
        segments.append(_segment(part, (units.ratio(done, total_ns), frac), n, (text, narrow)))
        done += part.ns
    return segments


def _label(part: Part, frac: float, *, named: bool) -> str:
    """Return what a segment has room for: name and share, the share alone, or nothing."""
    share = units.share(frac)
    text = f"{part.word.short} {share}"
    if frac >= len(text) * _WIDE_CHARACTER:
        return text
    return share if named and not part.word.letter and frac >= _SHARE_ALONE else ""


def _segment(part: Part, place: tuple[float, float], n: int, texts: tuple[str, str]) -> Segment:
    (x, frac), (text, narrow) = place, texts
    return Segment(
        css=part.word.css,
        x=percent(x),
        width=percent(frac),
        title=f"{part.word.label}: {units.duration(round(part.ns / n))}, {units.share(frac)}",
        label=text,
        narrow=narrow,
        middle=percent(x + frac / 2),
        on=f"t-{part.word.css}",
        letter=part.word.letter if not text and frac >= _LETTER_SHARE else "",
    )


def legend(parts: Sequence[Part], total_ns: int, *, n: int = 1) -> list[Legend]:
    """Name every part that has time, with its amount (over ``n`` steps, averaged) and share."""
    return [
        Legend(
            part.word.css,
            part.word.label if part.word.letter else part.word.short,
            part.word.letter,
            units.duration(round(part.ns / n)),
            units.share(units.ratio(part.ns, total_ns)),
        )
        for part in parts
        if part.ns > 0
    ]


def spoken(parts: Sequence[Part], total_ns: int) -> str:
    """Say a bar in one sentence, zeros included."""
    return ", ".join(
        f"{part.word.label.lower()} {units.share(units.ratio(part.ns, total_ns))}" for part in parts
    )


def track(css: str, x: float, frac: float) -> Segment:
    """Return one mark on the grey track of a whole step, moved where it would leave the track.

    The bound of a job is of its slowest ranks, while ``x`` is where all ranks together have theirs.
    """
    frac = max(0.0, min(frac, 1.0))
    return Segment(css, percent(max(0.0, min(x, 1.0 - frac))), percent(frac), "")
