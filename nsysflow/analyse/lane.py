"""One lane: from the store of its trace to its result document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from nsysflow.analyse import document
from nsysflow.analyse.attribute import Attribution
from nsysflow.analyse.exposure import cut_exposed
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.phase import measure_classes
from nsysflow.analyse.pieces import make_collectives, save_pieces
from nsysflow.analyse.queued import claim_queued
from nsysflow.analyse.runs import keep_runs
from nsysflow.analyse.stepping import Device, choose_steps, look_at_host
from nsysflow.analyse.windows import Steps
from nsysflow.analyse.workspace import Row, Workspace, open_workspace, slice_shift
from nsysflow.errors import InputError
from nsysflow.model import HOST_CAUSES
from nsysflow.settings import Limits, Settings

if TYPE_CHECKING:
    from nsysflow.rank import Lane

CAUSE_ROWS = [{"place": place, "cause": cause} for place, cause in enumerate(HOST_CAUSES)]


def analyse_lane(store: Path, lane: Lane, settings: Settings, limits: Limits) -> dict[str, Any]:
    """Measure one lane: return its own document, and leave the job's tables in the store.

    Raises:
        InputError: the store cannot be read, or the lane did no device work with a duration.
        UsageError: ``--from/--to`` leave nothing of this lane.
    """
    trace = store / lane.trace
    try:
        capture = json.loads((trace / "capture.json").read_text(encoding="utf-8"))
        with open_workspace(trace, limits) as work:
            facts = _facts(work, lane, capture, settings)
            found = document.rank_document(work, lane, capture, facts, settings)
            save_pieces(work, facts, lane_folder(store, lane))
            return found
    except (OSError, ValueError, duckdb.IOException) as error:
        raise InputError(
            f"{lane.file}: the store cannot be read ({_first_line(error)})",
            stage="analyse",
            hint="run nsysflow convert again",
        ) from error


def lane_folder(store: Path, lane: Lane) -> Path:
    """Return where a lane's document and tables lie in the store."""
    return store / lane.trace / f"lane-{lane.lane}"


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _facts(work: Workspace, lane: Lane, capture: dict[str, Any], settings: Settings) -> Facts:
    work.view("lane_op", lane=lane.lane)
    span = work.row("lane_span")
    if span["start_ns"] is None:
        raise InputError(
            f"{lane.file}: lane {lane.label} holds no device work with a duration",
            stage="analyse",
            hint="re-capture with --trace=cuda",
            no_gpu_work=True,
        )
    if span["out_of_order"]:
        raise InputError(
            f"{lane.file}: the store is not in time order",
            stage="analyse",
            hint="delete the store and run nsysflow convert again",
        )
    device = Device(_process(capture, lane.lane), span, _primary_stream(work))
    lanes = _lanes(capture, device.process)
    look_at_host(work, device.process, lanes, settings)
    steps = choose_steps(work, device, settings, capture)
    shift = slice_shift(_reach(span, steps))
    facts = Facts(device.process, device.primary, span, steps, shift, lanes)
    _measure(work, facts, lane)
    return facts


def _process(capture: dict[str, Any], lane: int) -> int:
    (found,) = [row for row in capture["lanes"] if row["lane"] == lane]
    return int(found["process"])


def _lanes(capture: dict[str, Any], process: int) -> tuple[int, int]:
    mine = [row["lane"] for row in capture["lanes"] if row["process"] == process]
    return min(mine), max(mine)


def _primary_stream(work: Workspace) -> tuple[int | None, int | None]:
    """Return (context, stream) of the stream that computes longest, the lowest id on ties."""
    work.table("stream_work")
    streams = work.kept("stream_work").to_pylist()
    compute = any(row["compute_sum"] for row in streams)
    bound = "compute_sum" if compute else "all_sum"
    best: tuple[int, Row] | None = None
    # Summed durations bound the union from above: most streams need no union at all.
    for row in sorted(streams, key=lambda r: -r[bound]):
        if best is not None and row[bound] < best[0]:
            break
        busy = work.row(
            "stream_union", context=row["context"], stream=row["stream"], compute=compute
        )["busy_ns"]
        if best is None or (-busy, _id(row)) < (-best[0], _id(best[1])):
            best = (busy, row)
    assert best is not None  # noqa: S101 - a lane has at least one op, hence a stream
    return best[1]["context"], best[1]["stream"]


def _id(row: Row) -> tuple[int, int]:
    return (row["stream"] or 0, row["context"] or 0)


def _reach(span: Row, steps: Steps) -> int:
    first = min(span["start_ns"], *(window.start_ns for window in steps.windows))
    last = max(span["end_ns"], *(window.end_ns for window in steps.windows))
    return int(last - first)


def _measure(work: Workspace, facts: Facts, lane: Lane) -> None:
    """Build the stages that every section reads."""
    work.put("segment", facts.segments(), facts.SEGMENT)
    work.table("window_bucket", shift=facts.shift)
    work.view("coverage")
    work.table("level1", shift=facts.shift)
    facts.levels = {row["segment"]: row for row in work.rows("steps")}
    facts.check()
    first, last = facts.reach
    work.table(
        "gap",
        shift=facts.shift,
        span_start=facts.span["start_ns"],
        span_end=facts.span["end_ns"],
        first_start=first,
        last_end=last,
    )
    context, stream = facts.primary
    first, last = facts.lanes
    work.table("gap_next", context=context, stream=stream, first_lane=first, last_lane=last)
    work.table("gap_cut")
    work.table("blocking_call", process=facts.process)
    work.table("call_site")
    _evidence(work, facts)
    attribution = Attribution(work, facts)
    attribution.run()
    work.put("cause", list(CAUSE_ROWS), {"place": "int64", "cause": "string"})
    work.table("sync_claim")
    claim_queued(work, facts, lane)
    work.table("gap_cause")
    measure_classes(work, facts)
    work.table("island")
    work.table("exposed", shift=facts.shift)
    cut_exposed(work, facts, attribution.evidence)
    facts.own(work)
    keep_runs(work)
    make_collectives(work, facts)
    facts.host_rows = work.row("host_rows", process=facts.process)


def _evidence(work: Workspace, facts: Facts) -> None:
    work.table("late_wait")
    work.table("evidence", process=facts.process)
