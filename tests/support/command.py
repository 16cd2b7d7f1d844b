"""Run nsysflow as a user would, and look at what it left behind."""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import os
import subprocess
import sys
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest


@dataclass(frozen=True)
class Ended:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def failures(self) -> list[str]:
        """The lines on stderr."""
        return [line for line in self.err.splitlines() if line.strip()]


def in_process(*arguments: object) -> Ended:
    """Run one command line in this process: fast, for the many."""
    from nsysflow.cli import run
    from nsysflow.console import Console

    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = run([str(argument) for argument in arguments], Console())
    return Ended(code, out.getvalue(), err.getvalue())


def as_process(*arguments: object, **environment: str) -> Ended:
    """Run one command line in a process of its own: slow, for the few that must be real."""
    command = [sys.executable, "-m", "nsysflow", *map(str, arguments)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=os.environ | environment, check=False
    )
    return Ended(done.returncode, done.stdout, done.stderr)


@dataclass(frozen=True)
class Report:
    """A finished ``nsysflow report``: how it ended and the documents it wrote."""

    ended: Ended
    folder: Path

    @property
    def result(self) -> dict[str, Any]:
        """The job's document."""
        return read_json(self.folder / "result.json")

    @property
    def lanes(self) -> dict[str, dict[str, Any]]:
        """The rank documents by label."""
        documents = map(read_json, sorted(self.folder.glob("rank-*.json")))
        return {document["lane"]["label"]: document for document in documents}

    @property
    def lane(self) -> dict[str, Any]:
        """The only rank document."""
        (document,) = self.lanes.values()
        return document

    @property
    def pages(self) -> dict[str, str]:
        """The text of every page."""
        return {page.name: page.read_text("utf-8") for page in sorted(self.folder.glob("*.html"))}


def report(run: Path, folder: Path, *options: object, jobs: int = 1) -> Report:
    """Report ``run`` into ``folder`` and check what must hold for every run whatsoever."""
    before = snapshot(run)
    ended = in_process("report", run, "-o", folder, "--jobs", jobs, *options)
    assert snapshot(run) == before, "the input folder changed"
    assert "Traceback" not in ended.err
    return Report(ended, folder)


def snapshot(root: Path) -> dict[str, tuple[int, int, str]]:
    """Every file below a folder: size, modification time, content."""
    files = [root] if root.is_file() else sorted(p for p in root.rglob("*") if p.is_file())
    facts = {}
    for file in files:
        status = file.lstat()
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        facts[str(file.relative_to(root))] = (status.st_size, status.st_mtime_ns, digest)
    facts |= {f"{path.relative_to(root)}/": (0, 0, "") for path in root.rglob("*") if path.is_dir()}
    return facts


def read_json(path: Path) -> dict[str, Any]:
    """Read a document; NaN and infinities are not allowed in one."""

    def refuse(constant: str) -> object:
        raise AssertionError(f"{constant} in {path.name}")

    document = json.loads(path.read_text("utf-8"), parse_constant=refuse)
    assert isinstance(document, dict)
    return document


def traces_folder() -> Path:
    """The folder of real traces; skips where it is absent."""
    folder = Path(os.environ.get("NSYSFLOW_TRACES", "../shared/traces")).resolve()
    if not (folder / "expected").is_dir():
        pytest.skip(f"real traces not found in {folder} (set NSYSFLOW_TRACES)")
    return folder


def check_identity(document: dict[str, Any]) -> None:
    """Level 1 sums to its window, for the lane, the whole span and every step."""
    items = document["steps"].get("items", [])
    tables = [document["buckets"], document["capture"]["span"]["buckets"]]
    tables += [item["buckets"] for item in items]
    for buckets in tables:
        parts = [ns for name, ns in buckets.items() if name != "window_ns"]
        assert min(parts) >= 0
        assert len(parts) == 6
        assert sum(parts) == buckets["window_ns"]
    for item in items:
        assert item["buckets"]["window_ns"] == item["end_ns"] - item["start_ns"]
    for left, right in pairwise(items):
        assert left["end_ns"] == right["start_ns"]
    kept = [item["buckets"]["window_ns"] for item in items if item["kept"]]
    assert document["buckets"]["window_ns"] == sum(kept)
    causes, buckets = document["causes"], document["buckets"]
    compute = buckets["compute_only"] + buckets["compute_comm_overlap"]
    assert sum(causes["compute"].values()) == compute
    assert sum(causes["idle"].values()) == buckets["idle"]
