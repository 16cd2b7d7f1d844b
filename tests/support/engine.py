"""Analyse an export through the package's own functions, without the command line."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from nsysflow.analyse import analyse_lane
from nsysflow.convert import convert_trace, trace_folder
from nsysflow.find import find_inputs
from nsysflow.rank import gpu_rows, rank_table
from nsysflow.settings import Limits, Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.support.export import Export
    from tests.support.random_trace import Trace

Documents = dict[tuple[int, int], dict[str, Any]]


def analysed(
    export: Export,
    folder: Path,
    settings: Settings | None = None,
    *,
    shuffle: int | None = None,
    parquet: bool = False,
) -> Documents:
    """Write, convert and analyse one export; return its documents by (pid, device)."""
    settings = settings or Settings()
    run, store = folder / "run", folder / "store"
    if parquet:
        export.write_parquetdir(run / "trace_pqtdir", shuffle=shuffle)
    else:
        export.write_sqlite(run / "trace.sqlite", shuffle=shuffle)
    found = find_inputs([run])
    (only,) = found.inputs
    limits = Limits(temp_dir=folder / "scratch")
    (folder / "scratch").mkdir(parents=True, exist_ok=True)
    store.mkdir(parents=True, exist_ok=True)
    name = trace_folder(only)
    convert_trace(only, store / name, settings, limits)
    capture = json.loads((store / name / "capture.json").read_text("utf-8"))
    table = rank_table([gpu_rows(store, name) | capture | {"trace": name}], settings)
    return {
        (lane.pid, lane.device): analyse_lane(store, lane, settings, limits) for lane in table.lanes
    }


def documents_of(export: Export, traces: Sequence[Trace], folder: Path) -> list[dict[str, Any]]:
    """Analyse an export; one document per trace, in the same order."""
    made = analysed(export, folder)
    return [made[(trace.pid, trace.device)] for trace in traces]
