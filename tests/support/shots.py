"""``python -m tests.support.shots REPORT OUT``: a PNG of every page, two widths, two themes."""

from __future__ import annotations

import sys
from pathlib import Path

from tests.support.browser import browser, lack, url

WIDTHS = (1280, 390)
THEMES = ("light", "dark")


def shoot(report: Path, out: Path) -> list[Path]:
    """Write the pictures of every page below ``report``; return their paths."""
    out.mkdir(parents=True, exist_ok=True)
    made = []
    with browser() as chromium:
        for width in WIDTHS:
            for theme in THEMES:
                context = chromium.new_context(
                    viewport={"width": width, "height": 900}, color_scheme=theme
                )
                page = context.new_page()
                for file in sorted(report.glob("*.html")):
                    page.goto(url(file))
                    picture = out / f"{file.stem}-{width}-{theme}.png"
                    page.screenshot(path=picture, full_page=True)
                    made.append(picture)
                context.close()
    return made


def main(arguments: list[str]) -> int:
    """Take the pictures, or say why that is not possible."""
    if len(arguments) != 2:
        sys.stderr.write("usage: python -m tests.support.shots REPORT OUT\n")
        return 2
    missing = lack()
    if missing:
        sys.stderr.write(f"shots: {missing}\n")
        return 1
    for picture in shoot(Path(arguments[0]), Path(arguments[1])):
        sys.stdout.write(f"{picture}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
