"""The colours of the pages: contrast, and distance for eyes with a colour-vision deficiency."""

from __future__ import annotations

import itertools
import math
import re

import pytest

from nsysflow import resources

SIX = ("compute", "overlap", "comm", "mem", "graph", "idle")
THEMES = ("light", "dark")
# Machado, Oliveira and Fernandes 2009, severity 1, on linear RGB.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protan": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deutan": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritan": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
}
Colour = tuple[float, float, float]


def tokens(theme: str) -> dict[str, str]:
    css = resources.data("reports", "page.css").read_text(encoding="utf-8")
    found = re.findall(r"--([a-z0-9-]+):light-dark\((#[0-9a-f]{6}),(#[0-9a-f]{6})\)", css)
    return {name: light if theme == "light" else dark for name, light, dark in found}


def linear(colour: str) -> Colour:
    channels = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    out = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return out[0], out[1], out[2]


def contrast(one: str, other: str) -> float:
    light = sorted(
        (
            sum(w * c for w, c in zip((0.2126, 0.7152, 0.0722), linear(x), strict=True))
            for x in (one, other)
        ),
    )
    return (light[1] + 0.05) / (light[0] + 0.05)


def lab(rgb: Colour) -> Colour:
    x, y, z = (
        sum(m * c for m, c in zip(row, rgb, strict=True)) / white
        for row, white in (
            ((0.4124564, 0.3575761, 0.1804375), 0.95047),
            ((0.2126729, 0.7151522, 0.0721750), 1.0),
            ((0.0193339, 0.1191920, 0.9503041), 1.08883),
        )
    )
    fx, fy, fz = (t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def ciede2000(one: Colour, other: Colour) -> float:
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean_c = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(mean_c**7 / (mean_c**7 + 25**7)))
    a1, a2 = a1 * (1 + g), a2 * (1 + g)
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = math.degrees(math.atan2(b1, a1)) % 360, math.degrees(math.atan2(b2, a2)) % 360
    dh = h2 - h1
    if abs(dh) > 180:
        dh -= math.copysign(360, dh)
    dl, dc = l2 - l1, c2 - c1
    dbig = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(dh / 2))
    ml, mc = (l1 + l2) / 2, (c1 + c2) / 2
    mh = (h1 + h2) / 2 + (
        180 if abs(h1 - h2) > 180 and h1 + h2 < 360 else -180 if abs(h1 - h2) > 180 else 0
    )
    t = (
        1
        - 0.17 * math.cos(math.radians(mh - 30))
        + 0.24 * math.cos(math.radians(2 * mh))
        + 0.32 * math.cos(math.radians(3 * mh + 6))
        - 0.20 * math.cos(math.radians(4 * mh - 63))
    )
    sl = 1 + 0.015 * (ml - 50) ** 2 / math.sqrt(20 + (ml - 50) ** 2)
    sc, sh = 1 + 0.045 * mc, 1 + 0.015 * mc * t
    turn = (
        2
        * math.sqrt(mc**7 / (mc**7 + 25**7))
        * math.sin(math.radians(60 * math.exp(-(((mh - 275) / 25) ** 2))))
    )
    return math.sqrt(
        (dl / sl) ** 2 + (dc / sc) ** 2 + (dbig / sh) ** 2 - turn * (dc / sc) * (dbig / sh)
    )


def seen(colour: str, vision: str) -> Colour:
    rgb = linear(colour)
    out = [sum(m * c for m, c in zip(row, rgb, strict=True)) for row in VISION[vision]]
    return lab((max(0, out[0]), max(0, out[1]), max(0, out[2])))


def test_ciede2000_agrees_with_its_published_pairs() -> None:
    assert ciede2000((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(2.0425, abs=1e-4)
    assert ciede2000((50, -1, 2), (50, 0, 0)) == pytest.approx(2.3669, abs=1e-4)
    assert ciede2000((22.7233, 20.0904, -46.694), (23.0331, 14.973, -42.5619)) == pytest.approx(
        2.0373, abs=1e-4
    )


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("vision", VISION)
def test_any_two_buckets_can_be_told_apart(theme: str, vision: str) -> None:
    colours = tokens(theme)
    least = min(
        (ciede2000(seen(colours[a], vision), seen(colours[b], vision)), a, b)
        for a, b in itertools.combinations(SIX, 2)
    )
    assert least[0] >= 18, least


@pytest.mark.parametrize("theme", THEMES)
def test_text_can_be_read_on_every_ground(theme: str) -> None:
    colours = tokens(theme)
    pairs = [("ink", ground) for ground in ("bg", "panel", "panel2")]
    pairs += [("muted", ground) for ground in ("bg", "panel", "panel2")]
    pairs += [("link", "bg"), ("link", "panel"), ("bg", "ink")]
    pairs += [(f"on-{bucket}", bucket) for bucket in SIX]
    weak = {pair: contrast(colours[pair[0]], colours[pair[1]]) for pair in pairs}
    assert all(value >= 4.5 for value in weak.values()), weak


@pytest.mark.parametrize("theme", THEMES)
def test_lines_of_marks_and_controls_stand_out_from_the_page(theme: str) -> None:
    colours = tokens(theme)
    names = [f"{bucket}-l" for bucket in SIX] + ["ctl", "link"]
    weak = {name: contrast(colours[name], colours["bg"]) for name in names}
    assert all(value >= 3 for value in weak.values()), weak


@pytest.mark.parametrize("theme", THEMES)
def test_heat_levels_run_in_one_direction(theme: str) -> None:
    lightness = [lab(linear(tokens(theme)[f"heat{level}"]))[0] for level in range(6)]
    assert lightness == sorted(lightness, reverse=theme == "light")
    assert min(abs(a - b) for a, b in itertools.pairwise(lightness)) >= 6
