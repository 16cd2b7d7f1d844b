"""One rank, one lane: the document that the many small cases look at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.command import check_identity, report
from tests.support.export import Export


def run_one(tmp_path: Path, export: Export) -> dict[str, Any]:
    """Report an export on its own; return its lane's document, whose buckets add up."""
    export.write_sqlite(tmp_path / "run" / "rank0.sqlite")
    made = report(tmp_path / "run", tmp_path / "out")
    assert made.ended.code == 0, made.ended.err
    check_identity(made.lane)
    return made.lane
