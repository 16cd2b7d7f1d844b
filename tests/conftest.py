"""What tests share: where real traces are, golden files, a browser for the page tests."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.browser import lack, path
from tests.support.command import traces_folder

ROOT = Path(__file__).parent.parent
GOLDEN = ROOT / "fixtures" / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite golden files")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
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
    """The path of a Chromium; a page test without one skips, where CI asks for it it fails."""
    missing, found = lack(), path()
    if missing is None and found is not None:
        return found
    if os.environ.get("NSYSFLOW_REQUIRE_CHROMIUM"):
        pytest.fail(f"{missing}, and NSYSFLOW_REQUIRE_CHROMIUM is set")
    pytest.skip(f"{missing}")
