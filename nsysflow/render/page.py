"""Templates in, one HTML file out: environment, policy with hashes, and the size of a page."""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup, escape

from nsysflow import resources
from nsysflow.render import units
from nsysflow.render.limits import LIMITS, Limits
from nsysflow.render.words import SETTING_KEYS

# Above this the next smaller set of limits is tried; the promise is 2 MB, the rest is reserve.
TARGET_BYTES = 1_400_000
# Ends, colours and share of each stripe; gradients, because patterns print as bitmaps.
STRIPES = (
    ("wait", "3.536", "3.536", "ct", ".7", "c"),
    ("late", "0", "4", "ct", ".72", "c"),
    ("unsplit", "4.95", "-4.95", "bg", ".85", "c"),
    ("bubble", "4", "0", "ct", ".72", "c"),
    ("S", "4.243", "-4.243", "i", ".52", "is"),
    ("L", "3.536", "3.536", "it", ".7", "id"),
    ("D", "0", "6", "it", ".6", "id"),
    ("R", "4", "0", "it", ".72", "id"),
    ("O", "8", "0", "it", ".55", "id"),
    ("U", "5.657", "-5.657", "bg", ".86", "id"),
    ("ineff", "3.536", "3.536", "kt", ".7", "k"),
    ("recomp", "6", "0", "kt", ".78", "k"),
    ("nr", "4.243", "4.243", "bg", ".86", "m"),
    ("comm", "3.536", "3.536", "c", ".78", "w"),
    ("overlap", "0", "4", "o", ".72", "w"),
    ("mem", "4", "0", "m2", ".78", "w"),
    ("graph", "3.536", "-3.536", "g", ".78", "w"),
)
# An option longer than this may break across lines.
_OPTION = 40
_CODE = re.compile(r"`([^`\n]{1,400})`")
# Keys of the settings file, and options of a command line.
_KEY = re.compile(rf"(?<![\w.-])({'|'.join(SETTING_KEYS)}|--[a-z][\w-]*(?:=[\w,%{{}}-]+)?)(?!\w)")


def prose(text: str) -> Markup:
    """Escape a text and set what stands between backquotes, and keys and options, as code."""
    parts = _CODE.split(units.clean(text))
    return Markup("").join(_code(part) if at % 2 else _keys(part) for at, part in enumerate(parts))


def _code(text: str) -> Markup:
    """Set a name as code; an option stays in one piece, a name breaks where it must."""
    whole = text.startswith("--") and len(text) <= _OPTION
    if whole:
        return Markup('<code class="nb">{}</code>').format(text)
    return Markup("<code>{}</code>").format(text)


def _keys(text: str) -> Markup:
    parts = _KEY.split(text)
    return Markup("").join(
        Markup('<code class="nb">{}</code>').format(part) if at % 2 else escape(part)
        for at, part in enumerate(parts)
    )


def data_json(value: object) -> Markup:
    """Write data for a script block of type JSON; nothing in it can end the block."""
    text = json.dumps(value, separators=(",", ":"), sort_keys=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)  # noqa: S704


def _read(name: str) -> str:
    return resources.data("reports", name).read_text(encoding="utf-8")


@functools.cache
def _environment() -> Environment:
    made = Environment(
        loader=FunctionLoader(_read),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=False,
    )
    made.filters.update(
        prose=prose,
        data_json=data_json,
        clean=units.clean,
        sentence=units.sentence,
        duration=units.duration,
        share=units.share,
        count=units.count,
        decimal=units.decimal,
        two_digits=units.two_digits,
    )
    made.globals["stripe_table"] = STRIPES
    return made


def _small(css: str) -> str:
    """Drop comments and line breaks of a style sheet that is written one rule to a line."""
    return re.sub(r"\n+", "\n", re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)).strip()


@functools.cache
def _blocks(scripts: tuple[str, ...]) -> tuple[Markup, Markup, str]:
    """Return style, script and the policy that allows exactly these bytes."""
    style = _small(_read("page.css"))
    script = "\n".join(_read(name).strip() for name in scripts)
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data:; base-uri 'none'; form-action 'none'"
    )
    return Markup(style), Markup(script), policy  # noqa: S704


def _hash(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def write(
    template: str,
    scripts: tuple[str, ...],
    make: Callable[[Limits], Mapping[str, Any]],
) -> str:
    """Fill a template, with less and less of the document until the page is small enough."""
    style, script, policy = _blocks(scripts)
    page = ""
    for limits in LIMITS:
        page = (
            _environment()
            .get_template(template)
            .render(style=style, script=script, policy=policy, cut=limits.note, **make(limits))
        )
        if len(page.encode()) <= TARGET_BYTES:
            break
    return page
