"""One lane: from the store of its trace to its result document."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb

from nsysflow.analyse import document
from nsysflow.analyse.attribute import attribute
from nsysflow.analyse.exposed import make_exposed
from nsysflow.analyse.exposure import cut_exposed, put_first_compute
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.gaps import make_gaps
from nsysflow.analyse.launches import make_launch_pace
from nsysflow.analyse.level1 import measure_level1
from nsysflow.analyse.ops import Ops
from nsysflow.analyse.phase import measure_class_work, measure_classes
from nsysflow.analyse.pieces import make_collectives, save_pieces
from nsysflow.analyse.queued import claim_queued
from nsysflow.analyse.runs import keep_runs
from nsysflow.analyse.stepping import Device, choose_steps, look_at_host
from nsysflow.analyse.streams import make_stream_time, primary_stream
from nsysflow.analyse.windows import Steps
from nsysflow.analyse.workspace import Row, Workspace, open_workspace, slice_shift
from nsysflow.errors import InputError, disk_error
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
    except (OSError, json.JSONDecodeError, duckdb.IOException) as error:
        full = disk_error(error)
        if full is not None:
            raise InputError(
                f"{lane.file}: {full.message}", stage="analyse", hint=full.hint
            ) from error
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
    work.view("gpu_sample", lane=lane.lane)
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
    ops = Ops.read(work)
    device = Device(_process(capture, lane.lane), span, primary_stream(work, ops))
    lanes = _lanes(capture, device.process)
    look_at_host(work, device.process, lanes, settings)
    steps = choose_steps(work, device, settings, capture)
    shift = slice_shift(_reach(span, steps))
    facts = Facts(device.process, device.primary, span, steps, shift, lanes, ops)
    _measure(work, facts, lane)
    return facts


def _process(capture: dict[str, Any], lane: int) -> int:
    (found,) = [row for row in capture["lanes"] if row["lane"] == lane]
    return int(found["process"])


def _lanes(capture: dict[str, Any], process: int) -> tuple[int, int]:
    mine = [row["lane"] for row in capture["lanes"] if row["process"] == process]
    return min(mine), max(mine)


def _reach(span: Row, steps: Steps) -> int:
    first = min(span["start_ns"], *(window.start_ns for window in steps.windows))
    last = max(span["end_ns"], *(window.end_ns for window in steps.windows))
    return int(last - first)


def _measure(work: Workspace, facts: Facts, lane: Lane) -> None:
    """Build the stages that every section reads."""
    work.put("segment", facts.segments(), facts.SEGMENT)
    measure_level1(work, facts.ops, work.kept("segment"))
    facts.levels = {row["segment"]: row for row in work.rows("steps")}
    facts.check()
    facts.own(work)
    make_gaps(work, facts, facts.ops)
    work.table("blocking_call", process=facts.process)
    work.table("call_site")
    put_first_compute(work, facts)
    work.table("late_wait")
    work.table("evidence", process=facts.process)
    evidence = attribute(work, facts)
    work.put("cause", list(CAUSE_ROWS), {"place": "int64", "cause": "string"})
    work.table("sync_claim")
    claim_queued(work, facts, lane)
    work.view("gap_part")
    work.table("idle_cause")
    measure_classes(work, facts)
    measure_class_work(work, facts)
    make_exposed(work, facts, facts.ops)
    cut_exposed(work, facts, evidence)
    keep_runs(work, facts.ops)
    make_collectives(work, facts, lane.lane)
    make_stream_time(work, facts.ops, facts.kept)
    make_launch_pace(work, facts.ops)
    facts.host_rows = work.row("host_rows", process=facts.process)
