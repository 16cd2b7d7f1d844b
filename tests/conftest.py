"""What tests share: where real traces are, a browser for the page tests, golden files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from tests.support.command import traces_folder

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "fixtures" / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")


@pytest.fixture
def golden(request: pytest.FixtureRequest):  # noqa: ANN201 - a function, documented below
    """Return ``check(path, text)``: equal to the file, or rewritten under --update-golden."""

    def check(path: Path, text: str) -> None:
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert text == path.read_text(encoding="utf-8"), (
            f"{path.relative_to(ROOT)} is out of date; pytest --update-golden rewrites it"
        )

    return check


@pytest.fixture(scope="session")
def traces() -> Path:
    """The folder of real traces; skips where it is absent."""
    return traces_folder()


@pytest.fixture(scope="session")
def chromium() -> str:
    """The path of a Chromium; a page test without one skips, in CI it fails."""
    names = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        reason = "no Chromium on PATH (apt-get install chromium)"
        if os.environ.get("NSYSFLOW_REQUIRE_CHROMIUM"):
            pytest.fail(reason)
        pytest.skip(reason)
    return found
