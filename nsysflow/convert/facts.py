"""The small facts of a capture: ``capture.json``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nsysflow import model, sqlfile
from nsysflow.convert.events import span_of
from nsysflow.convert.requests import GRAPH, TABLES
from nsysflow.convert.work import Work
from nsysflow.parquet_files import files_of
from nsysflow.read import integer, text

DROPPED = (
    "no_timestamp",
    "impossible_duration",
    "open_ranges",
    "undecodable_text",
    "non_integer_cells",
)
_TIMED = ("op", "api", "os_call", "nvtx", "sync", "overhead")
_GRAPH_MODE = "CUDA_GRAPH_TRACE_OPTIONS:MODE"
# That a thread has ended is written even where no other state is.
_STATE_KNOWN = "NOT on_cpu AND (state <> 'Terminated' OR block IS NOT NULL)"


def export_facts(work: Work) -> dict[str, str]:
    """Return META_DATA_EXPORT, which was EXPORT_META_DATA in older exports."""
    facts: dict[str, str] = {}
    for table in ("META_DATA_EXPORT", "EXPORT_META_DATA"):
        for row in work.raw.rows(work.connection, table, text("name"), text("value")):
            if row["name"] and row["value"] is not None:
                facts.setdefault(row["name"].upper(), row["value"])
    return facts


def duration_ns(work: Work) -> int | None:
    """Return the length of the capture as the profiler measured it."""
    rows = work.raw.rows(work.connection, "ANALYSIS_DETAILS", integer("duration"))
    return max((row["duration"] for row in rows if (row["duration"] or 0) > 0), default=None)


def input_name(facts: dict[str, str]) -> str | None:
    """Return the name of the report that was exported, without its folder."""
    for name in ("FILE", "PATH_ABS", "PATH"):
        path = facts.get(f"EXPORT_PARAM_INPUT_{name}")
        if path:
            return re.split(r"[/\\]", path)[-1] or None
    return None


def capture(work: Work, file: str, key: str, facts: dict[str, str]) -> dict[str, Any]:
    """Return ``capture.json`` but for the rank evidence."""
    first, last = _recorded(work)
    utc, clock = _session_start(work, facts)
    return {
        "format": model.STORE_FORMAT,
        "key": key,
        "file": file,
        "nsys_version": facts.get("EXPORT_PRODUCT_VERSION"),
        "schema_version": facts.get("EXPORT_SCHEMA_VERSION"),
        "host": _host(work),
        "utc_start_ns": utc,
        "session_clock_ns": clock,
        "start_ns": first,
        "end_ns": last,
        "duration_ns": duration_ns(work),
        "tables": {table: _presence(work, table) for table in sorted(TABLES)},
        "dropped": {name: work.dropped[name] for name in DROPPED},
        "warnings": _rows(work, "warning", "severity", "text", "count"),
        "graph_mode": _graph_mode(work),
        "thread_states": work.count("sched", _STATE_KNOWN) > 0,
        "lanes": _rows(work, "lane_op", "lane", "process", "pid", "device", "ops"),
    }


def _recorded(work: Work) -> tuple[int, int]:
    spans = [span_of(files_of(work.store, name)) for name in _TIMED]
    known = [span for span in spans if span]
    return min(start for start, _ in known), max(end for _, end in known)


def _presence(work: Work, table: str) -> str:
    if not work.raw.has(table):
        return "absent"
    return "present" if work.raw.filled(table) else "empty"


def _host(work: Work) -> str | None:
    rows = work.raw.rows(work.connection, "TARGET_INFO_SYSTEM_ENV", text("name"), text("value"))
    hosts: Iterator[str] = (
        row["value"] for row in rows if row["name"] == "Hostname" and row["value"]
    )
    return next(hosts, None)


def _session_start(work: Work, facts: dict[str, str]) -> tuple[int | None, int | None]:
    """Return what UTC and the host's clock showed when the capture's own clock was zero."""
    rows = work.raw.rows(
        work.connection,
        "TARGET_INFO_SESSION_START_TIME",
        integer("utc", "utcEpochNs"),
        integer("clock", "systemClockNs"),
    )
    if facts.get("EXPORT_PARAM_TIME_NORMALIZE", "").lower() == "true":
        # Then the times of events are UTC already.
        return -_shift(facts), None
    # A session that began in 1970 is one whose beginning was not recorded.
    told = (row for row in rows if (row["utc"] or 0) > 0)
    row = next(told, (rows[0] if rows else {"utc": None, "clock": None}) | {"utc": None})
    shift = _shift(facts)
    return (
        None if row["utc"] is None else row["utc"] - shift,
        None if row["clock"] is None else row["clock"] - shift,
    )


def _shift(facts: dict[str, str]) -> int:
    for name in ("EXPORT_PARAM_TIME_SHIFT", "EXPORT_CONFIG_TIME_SHIFT"):
        match = re.fullmatch(r"\s*([+-]?\d{1,19})\s*(?:ns)?\s*", facts.get(name, ""))
        if match and int(match[1]):
            return int(match[1])
    return 0


def _graph_mode(work: Work) -> str | None:
    rows = work.raw.rows(work.connection, "META_DATA_CAPTURE", text("name"), text("value"))
    for row in rows:
        if (row["name"] or "").endswith(_GRAPH_MODE) and row["value"]:
            mode = str(row["value"]).lower().split(":")[0]
            if mode in {"graph", "node"}:
                return mode
    if work.raw.filled(GRAPH):
        return "graph"
    return "node" if work.count("_op", "kind = 'kernel' AND graph_node IS NOT NULL") else None


def _rows(work: Work, stem: str, *names: str) -> list[dict[str, Any]]:
    rows = work.connection.execute(sqlfile.load("convert", stem).text).fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]
