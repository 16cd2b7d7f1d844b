"""Debian's Chromium through Playwright, offline; or the reason why there is none."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
ARGUMENTS = (
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


def path() -> str | None:
    """Return where a Chromium is installed, None where none is."""
    return next((found for name in NAMES if (found := shutil.which(name))), None)


def lack() -> str | None:
    """Return what is missing to open pages, None where nothing is."""
    if path() is None:
        return f"no Chromium: none of {', '.join(NAMES)} is on PATH"
    try:
        import playwright.sync_api  # noqa: F401
    except ImportError:
        return "no Playwright: pip install playwright"
    return None


@contextmanager
def browser(executable: str | None = None) -> Iterator[Any]:
    """Start the system's Chromium; Playwright's own download is never used."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as play:
        started = play.chromium.launch(executable_path=executable or path(), args=list(ARGUMENTS))
        try:
            yield started
        finally:
            started.close()


def url(page: Path) -> str:
    return page.resolve().as_uri()
