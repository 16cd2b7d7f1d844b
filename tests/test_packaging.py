"""A wheel holds what a checkout holds, and works where no checkout is."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import venv
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel as a package index would get it; needs hatchling or a way to fetch it."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", out, ROOT]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode and "hatchling" in done.stderr + done.stdout:
        pytest.skip("hatchling is neither installed nor to be had")
    assert done.returncode == 0, done.stderr
    (built,) = out.glob("*.whl")
    return built


def shipped() -> Iterator[str]:
    for folder in ("sql", "reports"):
        for path in (ROOT / folder).rglob("*"):
            if path.is_file():
                yield f"nsysflow/_data/{path.relative_to(ROOT).as_posix()}"


@pytest.mark.slow
def test_wheel_holds_sql_and_reports(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    assert set(shipped()) <= names
    assert len(set(shipped())) > 50
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"nsysflow"}
    code = {path.relative_to(ROOT).as_posix() for path in (ROOT / "nsysflow").rglob("*.py")}
    assert code <= names
    assert any(name.endswith("licenses/LICENSE") for name in names)


@pytest.mark.slow
def test_wheel_works_without_the_checkout(wheel: Path, tmp_path: Path) -> None:
    from tests.support.export import busy_export

    busy_export().write_sqlite(tmp_path / "run" / "rank0.sqlite")
    venv.create(tmp_path / "env", system_site_packages=False, with_pip=False)
    python = tmp_path / "env" / "bin" / "python"
    site = next((tmp_path / "env").glob("lib/python*/site-packages"))
    zipfile.ZipFile(wheel).extractall(site)
    # The dependencies of this environment, without its editable nsysflow.
    (site / "libraries.pth").write_text("\n".join(p for p in sys.path if "site-packages" in p))
    command = [python, "-P", "-m", "nsysflow", "report", tmp_path / "run", "--jobs", "2"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd="/")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "run" / "nsysflow-report" / "rank-0000.html").is_file()


def test_what_pyproject_promises() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    text = (ROOT / "CONTRIBUTING.md").read_text()
    extras = project["optional-dependencies"].values()
    listed = [*project["dependencies"], *(entry for extra in extras for entry in extra)]
    names = {entry.split(">")[0].split("[")[0] for entry in listed}
    missing = {name for name in names if f"`{name}`" not in text}
    assert not missing, f"CONTRIBUTING.md gives no reason for {missing}"
