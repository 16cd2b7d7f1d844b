"""Tables of what the host did: blocking calls, gaps, copies, calls and annotated ranges."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsysflow.render import units
from nsysflow.render.sections import Document, Window, items, section, state
from nsysflow.render.tables import Cell, Column, Table, build, rest_note
from nsysflow.render.timeline import Places
from nsysflow.render.words import MEMORY_KIND, cause, plain

# Paths are long texts: all that the document lists would be a sixth of the page.
MOST_PATHS = 120


def syncs(document: Document, window: Window, limit: int) -> Table | None:
    """Return blocking calls with the idle time they cause."""
    found = section(document, "syncs")
    if state(found):
        return None
    rows = [
        {**row, "kind": Cell(plain(row["kind"]), csv=row["kind"])} for row in items(found)[:limit]
    ]
    return build(
        "t-syncs",
        "Blocking calls",
        (
            Column("api", "Call", "name"),
            Column("kind", "Kind"),
            Column("nvtx_path", "NVTX path", "name", null="no range", quiet=True),
            Column("per_step", f"Per {window.unit}", "decimal"),
            Column("host_ns", "Host time", "ns", per=window.n, group="time"),
            Column("idle_caused_ns", "Idle caused", "ns", per=window.n, group="time"),
            Column("bytes", "Bytes", "size", per=window.n, null="none", quiet=True, wide=True),
            Column("callsite", "Source line", "name", null="not recorded"),
        ),
        rows,
        note="A blocking call that overlaps GPU work costs nothing; "
        "only the idle time it causes counts. Host time adds threads that wait side by side. "
        "Source lines need `--cudabacktrace=sync`.",
    )


def gaps(document: Document, window: Window, limit: int) -> Table | None:
    """Return the longest idle gaps."""
    found = section(document, "gaps")
    if state(found):
        return None
    origin = document["capture"].get("start_ns") or 0
    places = Places(document)
    numbers = {
        item["index"]: item["number"] for item in section(document, "steps").get("items") or ()
    }
    rows = [
        {
            **row,
            "start_ns": _place(row, origin, places),
            "cause": _cause_cell(row["cause"]),
            "step": _step_cell(row["step"], numbers),
            "evidence": _flat(row["evidence"]),
        }
        for row in found["top"][:limit]
    ]
    return build(
        "t-gaps",
        "Longest gaps",
        (
            Column("start_ns", "Starts"),
            Column("dur_ns", "Length", "ns"),
            Column("cause", "Cause"),
            *(
                [Column("step", "Step", "count", null="outside", quiet=True)]
                if window.unit == "step"
                else []
            ),
            Column("next_op", "Ended by", "name", null="nothing", quiet=True),
            *(
                [Column("evidence", "Evidence", "name", null="none", quiet=True, wide=True)]
                if any(row["evidence"] for row in rows)
                else []
            ),
        ),
        rows,
        note=f"{len(rows)} of {units.count(found['count'])} gaps, the longest; all together "
        f"{units.duration(found['total_ns'])} ({window.text}). Starts count from the first event "
        "of the capture; those that are links lie in a window that the timeline shows.",
    )


def _place(row: Mapping[str, Any], origin: int, places: Places) -> Cell:
    at = places.at(row["start_ns"], row["dur_ns"])
    # All in one unit: gaps of one second would look alike in another.
    text = f"+{(row['start_ns'] - origin) / 1e6:,.1f}{units.NARROW}ms"
    return Cell(text, value=str(row["start_ns"]), href=f"at:{at}" if at else None)


def _step_cell(index: int | None, numbers: Mapping[int, int | None]) -> Cell | None:
    """Show the number that the program gave a step, where it gave one; CSV holds the index."""
    if index is None:
        return None
    number = numbers.get(index)
    return Cell(str(index if number is None else number), value=str(index))


def _cause_cell(name: str | None) -> Cell | None:
    if name is None:
        return None
    word = cause(name)
    return Cell(word.label, csv=name, css=word.css, letter=word.letter)


def _flat(evidence: object) -> str | None:
    if not evidence:
        return None
    if isinstance(evidence, str):
        return evidence
    return (
        "; ".join(str(part) for part in evidence) if isinstance(evidence, list) else str(evidence)
    )


def memory(document: Document, window: Window) -> Table | None:
    """Return copies and sets."""
    found = section(document, "memory")
    if state(found):
        return None
    rows = [
        {**row, "kind": Cell(MEMORY_KIND.get(row["kind"], plain(row["kind"])), csv=row["kind"])}
        for row in items(found)
    ]
    return build(
        "t-memory",
        "Memory operations",
        (
            Column("kind", "Kind"),
            Column("pageable", "Pageable", "yesno", null="not known", wide=True),
            Column("count", f"Per {window.unit}", "count", per=window.n),
            Column("bytes", "Bytes", "size", per=window.n),
            Column("work_ns", "Work", "ns", per=window.n, group="time"),
            Column("exposed_ns", "Exposed", "ns", per=window.n, group="time"),
        ),
        rows,
        note=f"Per {window.unit}.",
    )


def calls(document: Document, name: str, caption: str, limit: int) -> Table | None:
    """Return CUDA calls or OS calls by name, totals over the kept windows."""
    found = section(document, name)
    if state(found):
        return None
    rows = items(found)[:limit]
    return build(
        {"api": "t-api", "os_calls": "t-os"}[name],
        caption,
        (
            Column("name", "Call", "name"),
            Column("count", "Count", "count"),
            Column("total_ns", "Total", "ns"),
            Column("median_ns", "Median", "ns", group="each"),
            Column("min_ns", "Min", "ns", wide=True, group="each"),
            Column("max_ns", "Max", "ns", wide=True, group="each"),
        ),
        rows,
        note=f"Totals over all kept windows. {rest_note(len(rows), found['total'], 'name')}",
    )


def nvtx(document: Document, limit: int) -> Table | None:
    """Return NVTX ranges with host time and the device time of what they launched."""
    found = section(document, "nvtx")
    if state(found):
        return None
    rows = items(found)[: min(limit, MOST_PATHS)]
    return build(
        "t-nvtx",
        "NVTX ranges",
        (
            Column("path", "Path", "name"),
            Column("domain", "Domain", "name", null="default", quiet=True, wide=True),
            Column("count", "Count", "count"),
            Column("open", "Left open", "count", wide=True),
            Column("host_ns", "Host time", "ns", group="time"),
            Column("projected_ns", "GPU time", "ns", group="time"),
            Column("work_ns", "GPU work", "ns", group="time"),
        ),
        rows,
        note="Totals over all kept windows. "
        "GPU time counts each instant once and includes children; "
        f"GPU work adds. {rest_note(len(rows), found['total'], 'path')}",
    )
