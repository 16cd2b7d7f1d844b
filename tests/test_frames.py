"""The Python API: frames of the store and of the documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from nsysflow import frames
from nsysflow.errors import UsageError
from tests.support.command import report
from tests.support.export import busy_export

if TYPE_CHECKING:
    from pathlib import Path


def test_frames_of_a_report(tmp_path: Path) -> None:
    run = tmp_path / "run"
    busy_export().write_sqlite(run / "rank0.sqlite")
    made = report(run, tmp_path / "out")
    kernels = frames.query(made.folder, "SELECT count(*) AS n FROM op WHERE kind = 'kernel'")
    document = made.lane
    assert kernels["n"].to_list() == [document["capture"]["counts"]["kernels"]]
    lanes = frames.ranks(made.folder)
    assert lanes["label"].to_list() == ["0000"]
    buckets, kept = document["buckets"], document["steps"]["kept"]
    assert lanes["idle"].to_list() == [buckets["idle"] // kept]
    with pytest.raises(UsageError, match="only reads"):
        frames.query(made.folder, "CREATE TABLE t AS SELECT 1")
    with pytest.raises(UsageError, match="no store"):
        frames.query(tmp_path, "SELECT 1")
    with pytest.raises(UsageError, match=r"no result\.json"):
        frames.ranks(tmp_path)
