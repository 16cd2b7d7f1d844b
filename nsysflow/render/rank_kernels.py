"""Tables of what the device did: kernels, classes, phases, streams, collectives."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nsysflow.model import PHASES
from nsysflow.render import units
from nsysflow.render.sections import Document, Window, items, section, state
from nsysflow.render.tables import Cell, Column, Of, Table, build, rest_note
from nsysflow.render.words import MATRIX_CLASSES, Word, communicator_kind, kernel_class, plain

OTHER = "(other)"
SMALL_KERNEL = 0.001
KERNELS_SHOWN = 50


def class_word(name: str) -> Word:
    """Return the label and fill of a kernel class."""
    css = "compute" if name in MATRIX_CLASSES else "c-nontensor"
    label = kernel_class(name)
    return Word(label, label, "comm" if name == "comm" else css)


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
    rows: list[dict[Any, Any]] = [_kernel(row, window) for row in keep]
    hidden = found["total"] - len(keep)
    if left and hidden > 0:
        rows.append(
            {
                Of.LEVEL: "tot",
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
            Column("class", "Class", wide=True),
            Column("tensor_core", "Tensor cores", wide=True),
            Column("count", f"Count per {window.unit}", "count", per=window.n, wide=True),
            Column("work_ns", f"Work per {window.unit}", "ns", per=window.n),
            Column("share", f"Of {window.unit}", "share"),
            Column("median_ns", "Median", "ns", group="each"),
            Column("min_ns", "Min", "ns", wide=True, group="each"),
            Column("max_ns", "Max", "ns", wide=True, group="each"),
        ),
        rows,
        note=f"{len(keep)} of {units.count(found['total'])} names, {shown} of kernel work, "
        "communication included.",
    )


def _kernel(row: Mapping[str, Any], window: Window) -> dict[Any, Any]:
    return {
        **row,
        Of.ID: units.anchor("k", row["name"]),
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
            Column("count", f"Count per {window.unit}", "count", per=window.n, wide=True),
            Column("work_ns", "Work", "ns", per=window.n, group="time"),
            Column("busy_ns", "Busy", "ns", per=window.n, group="time"),
            Column("share", f"Of {window.unit}", "share"),
        ),
        rows,
        note=f"Per {window.unit}. Classes that run side by side each count as busy.",
    )


def phases(document: Document, window: Window) -> Table | None:
    """Return compute time by phase of the training step."""
    phase = document["causes"]["phase"]
    if not any(ns for name, ns in phase.items() if name != "unknown"):
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


def streams(document: Document, window: Window, limit: int) -> Table | None:
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
            Column("count", f"Ops per {window.unit}", "count", per=window.n),
            Column("busy_ns", "Busy", "ns", per=window.n),
            Column("busy_frac", "Busy share", "share"),
        ),
        rows,
        note=f"Per {window.unit}. {rest_note(len(rows), found['total'], 'stream')}",
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
            "kind": communicator_kind(row["kind"]),
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
            Column("work_ns", "Work", "ns", per=window.n, group="time"),
            Column("exposed_ns", "Exposed", "ns", per=window.n, group="time"),
            Column("wait_ns", "Wait", "ns", per=window.n, null="not split", group="time"),
            Column("transfer_ns", "Transfer", "ns", per=window.n, null="not split", group="time"),
            Column("busbw_bytes_per_s", "Bus bandwidth", "rate", null="not known", wide=True),
        ),
        rows,
        note=f"Per {window.unit}. {rest_note(len(rows), found['total'], 'row')}",
    )
