"""``python -m tests.support.shots REPORT OUT [README]``: every page, two widths, two themes.

With README, a folder, the first screens of the job's and one rank's page are written there, small.
"""

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


def first_screens(report: Path, out: Path) -> list[Path]:
    """Write the two pictures that the README shows."""
    out.mkdir(parents=True, exist_ok=True)
    pages = {"job": report / "index.html", "rank": sorted(report.glob("rank-*.html"))[0]}
    made = []
    with browser() as chromium:
        context = chromium.new_context(
            viewport={"width": 1280, "height": 900}, device_scale_factor=0.6, color_scheme="light"
        )
        page = context.new_page()
        for name, file in pages.items():
            page.goto(url(file))
            picture = out / f"{name}.png"
            page.screenshot(path=picture)
            made.append(picture)
        context.close()
    return made


def main(arguments: list[str]) -> int:
    """Take the pictures, or say why that is not possible."""
    if len(arguments) not in {2, 3}:
        sys.stderr.write("usage: python -m tests.support.shots REPORT OUT [README]\n")
        return 2
    missing = lack()
    if missing:
        sys.stderr.write(f"shots: {missing}\n")
        return 1
    report, out, *readme = map(Path, arguments)
    made = shoot(report, out)
    for folder in readme:
        made += first_screens(report, folder)
    for picture in made:
        sys.stdout.write(f"{picture}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
