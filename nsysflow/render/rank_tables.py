"""The tables of a rank page, each from one section of the document."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.model import IDLE_CAUSES, PHASES
from nsysflow.render import units
from nsysflow.render.sections import Document, Window, items, section, state
from nsysflow.render.tables import Cell, Column, Table, build
from nsysflow.render.timeline import Places
from nsysflow.render.words import (
    MEMORY_KIND,
    TENSOR_CLASSES,
    Word,
    cause,
    kernel_class,
    plain,
)

OTHER = "(other)"
SMALL_KERNEL = 0.001
KERNELS_SHOWN = 50


def class_word(name: str) -> Word:
    """Return the label and fill of a kernel class."""
    css = "compute" if name in TENSOR_CLASSES else "c-nontensor"
    label = kernel_class(name)
    return Word(label, label, "comm" if name == "comm" else css)


def rest_note(shown: int, total: int, what: str) -> str:
    """Say how much of a list the page holds."""
    if shown >= total:
        return f"All {units.count(total)} {what}."
    return f"{units.count(shown)} of {units.count(total)} {what}; the JSON file beside this page may hold more."


def kernels(document: Document, window: Window, limit: int) -> Table | None:
    """Return the top kernels by work: 50, and all of at least 0.1 % of the window."""
    found = section(document, "kernels")
    if state(found):
        return None
    named = [row for row in found["top"] if row["name"] != OTHER]
    keep = [
        row
        for at, row in enumerate(named)
        if at < min(limit, KERNELS_SHOWN)
        or (at < limit and row["work_ns"] >= SMALL_KERNEL * window.ns)
    ]
    work = sum(row["work_ns"] for row in found["top"])
    left = [row for row in found["top"] if row not in keep]
    rows = [_kernel(row, window) for row in keep]
    hidden = found["total"] - len(keep)
    if left and hidden > 0:
        rows.append(
            {
                "level": "tot",
                "name": Cell(f"{units.count(hidden)} other names"),
                "class": "",
                "tensor_core": "",
                "count": sum(row["count"] for row in left),
                "work_ns": sum(row["work_ns"] for row in left),
                **dict.fromkeys(("median_ns", "min_ns", "max_ns"), Cell("", value="")),
                "share": units.ratio(sum(row["work_ns"] for row in left), window.ns),
            }
        )
    shown = units.share(units.ratio(sum(row["work_ns"] for row in keep), work))
    return build(
        "t-kernels",
        "Top kernels by work",
        (
            Column("name", "Kernel", "name"),
            Column("class", "Class"),
            Column("tensor_core", "Tensor", wide=True),
            Column("count", f"Count per {window.unit}", "count", per=window.n),
            Column("work_ns", f"Work per {window.unit}", "ns", per=window.n),
            Column("share", f"Of {window.unit}", "share"),
            Column("median_ns", "Median", "ns"),
            Column("min_ns", "Min", "ns", wide=True),
            Column("max_ns", "Max", "ns", wide=True),
        ),
        rows,
        note=f"{len(keep)} of {units.count(found['total'])} names, {shown} of kernel work, communication included.",
    )


def _kernel(row: Mapping[str, Any], window: Window) -> dict[str, Any]:
    return {
        **row,
        "id": units.anchor("k", row["name"]),
        "class": Cell(kernel_class(row["class"]), csv=row["class"]),
        "share": units.ratio(row["work_ns"], window.ns),
    }


def classes(document: Document, window: Window) -> Table | None:
    """Return kernels by class: busy time from the causes, counts and work beside it."""
    found = section(document, "kernels")
    if state(found):
        return None
    rows = [
        {**row, "class": class_word(row["class"]), "share": units.ratio(row["busy_ns"], window.ns)}
        for row in found["classes"]
    ]
    return build(
        "t-classes",
        "By class",
        (
            Column("class", "Class", "mark"),
            Column("count", f"Count per {window.unit}", "count", per=window.n),
            Column("work_ns", "Work", "ns", per=window.n),
            Column("busy_ns", "Busy", "ns", per=window.n),
            Column("share", f"Of {window.unit}", "share"),
        ),
        rows,
        note=f"Per {window.unit}. Classes that run side by side each count as busy.",
    )


def phases(document: Document, window: Window) -> Table | None:
    """Return compute time by phase of the training step."""
    phase = document["causes"].get("phase") or {}
    if not phase:
        return None
    rows = [
        {"phase": plain(name), "ns": phase[name], "share": units.ratio(phase[name], window.ns)}
        for name in PHASES
        if name in phase
    ]
    return build(
        "t-phases",
        "By phase",
        (
            Column("phase", "Phase"),
            Column("ns", f"Compute per {window.unit}", "ns", per=window.n),
            Column("share", f"Of {window.unit}", "share"),
        ),
        rows,
        note="Sums to the compute time. Unknown: no range and no anchor kernel says which.",
    )


def streams(document: Document, limit: int) -> Table | None:
    """Return the streams with what they mostly do."""
    found = section(document, "streams")
    if state(found):
        return None
    rows = [
        {**row, "stream": Cell(str(row["stream"])), "context": str(row["context"])}
        for row in items(found)[:limit]
    ]
    return build(
        "t-streams",
        "Streams",
        (
            Column("stream", "Stream"),
            Column("context", "Context", wide=True),
            Column("role", "Role"),
            Column("count", "Ops", "count"),
            Column("busy_ns", "Busy", "ns"),
            Column("busy_frac", "Busy share", "share"),
        ),
        rows,
        note=rest_note(len(rows), found["total"], "streams"),
    )


def collectives(document: Document, window: Window, limit: int) -> Table | None:
    """Return collective operations, with wait and transfer where they could be told apart."""
    found = section(document, "collectives")
    if state(found):
        return None
    rows = [
        {
            **row,
            "op": Cell(plain(row["op"]), csv=row["op"]),
            "kind": plain(row["kind"] or "unknown"),
        }
        for row in items(found)[:limit]
    ]
    return build(
        "t-collectives",
        "Collectives",
        (
            Column("op", "Operation"),
            Column("communicator", "Communicator", "name", null="not recorded"),
            Column("kind", "Kind", wide=True),
            Column("members", "Members", "count", null="not recorded", wide=True),
            Column("count", f"Per {window.unit}", "count", per=window.n),
            Column("bytes", "Bytes", "size", per=window.n, null="not recorded"),
            Column("work_ns", "Work", "ns", per=window.n),
            Column("exposed_ns", "Exposed", "ns", per=window.n),
            Column("wait_ns", "Wait", "ns", per=window.n, null="not split"),
            Column("transfer_ns", "Transfer", "ns", per=window.n, null="not split"),
            Column("busbw_bytes_per_s", "Bus bandwidth", "rate", null="not known", wide=True),
        ),
        rows,
        note=f"Per {window.unit}. {rest_note(len(rows), found['total'], 'rows')}",
    )


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
            Column("host_ns", "Host time", "ns", per=window.n),
            Column("idle_caused_ns", "Idle caused", "ns", per=window.n),
            Column("bytes", "Bytes", "size", null="none", quiet=True, wide=True),
            Column("callsite", "Source line", "name", null="not recorded"),
        ),
        rows,
        note="A blocking call that overlaps GPU work costs nothing; only the idle time it causes counts. "
        "Source lines need `--cudabacktrace=sync`.",
    )


def gaps(document: Document, limit: int) -> Table | None:
    """Return the longest idle gaps."""
    found = section(document, "gaps")
    if state(found):
        return None
    origin = document["capture"].get("start_ns") or 0
    places = Places(document)
    rows = [
        {
            **row,
            "start_ns": _place(row, origin, places),
            "cause": _cause_cell(row["cause"]),
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
            Column("step", "Step", "count", null="outside", quiet=True),
            Column("next_op", "Ended by", "name", null="nothing", quiet=True),
            Column("evidence", "Evidence", "name", null="none", quiet=True, wide=True),
        ),
        rows,
        note=f"{len(rows)} of {units.count(found['count'])} gaps, the longest; "
        f"all together {units.duration(found['total_ns'])}.",
    )


def _place(row: Mapping[str, Any], origin: int, places: Places) -> Cell:
    at = places.at(row["start_ns"], row["dur_ns"])
    text = f"+{units.duration(row['start_ns'] - origin)}"
    return Cell(text, value=str(row["start_ns"]), href=f"at:{at}" if at else None)


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
            Column("work_ns", "Work", "ns", per=window.n),
            Column("exposed_ns", "Exposed", "ns", per=window.n),
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
            Column("median_ns", "Median", "ns"),
            Column("min_ns", "Min", "ns", wide=True),
            Column("max_ns", "Max", "ns", wide=True),
        ),
        rows,
        note=f"Totals over all kept windows. {rest_note(len(rows), found['total'], 'names')}",
    )


def nvtx(document: Document, limit: int) -> Table | None:
    """Return NVTX ranges with host time and the device time of what they launched."""
    found = section(document, "nvtx")
    if state(found):
        return None
    rows = items(found)[:limit]
    return build(
        "t-nvtx",
        "NVTX ranges",
        (
            Column("path", "Path", "name"),
            Column("domain", "Domain", "name", null="default", quiet=True, wide=True),
            Column("count", "Count", "count"),
            Column("open", "Left open", "count", wide=True),
            Column("host_ns", "Host time", "ns"),
            Column("projected_ns", "GPU time", "ns"),
            Column("work_ns", "GPU work", "ns"),
        ),
        rows,
        note="Totals over all kept windows. GPU time counts each instant once and includes children; "
        f"GPU work adds. {rest_note(len(rows), found['total'], 'paths')}",
    )


def causes(document: Document, window: Window) -> list[dict[str, Any]]:
    """Return the rows of the cause table: six buckets, each followed by its causes."""
    split = document["causes"]
    inside: dict[str, Sequence[tuple[str, int]]] = {
        "exposed_comm": [
            (name, ns) for name, ns in (split.get("exposed_comm") or {}).items() if ns
        ],
        "idle": sorted(
            ((name, ns) for name, ns in (split.get("idle") or {}).items() if ns),
            key=lambda pair: (
                -pair[1],
                IDLE_CAUSES.index(pair[0]) if pair[0] in IDLE_CAUSES else 99,
            ),
        ),
    }
    rows = []
    for bucket in (
        "compute_only",
        "compute_comm_overlap",
        "exposed_comm",
        "exposed_mem",
        "graph_opaque",
        "idle",
    ):
        rows.append({"name": bucket, "ns": document["buckets"][bucket], "level": "l1"})
        rows += [{"name": name, "ns": ns, "level": "l2"} for name, ns in inside.get(bucket, ())]
    return [{**row, "share": units.ratio(row["ns"], window.ns)} for row in rows]
