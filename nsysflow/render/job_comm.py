"""Tables of the job page on what lies between ranks: communicators, pipeline stages, clocks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.render import units
from nsysflow.render.job_sections import rank_name
from nsysflow.render.sections import state
from nsysflow.render.tables import Column, Table, build
from nsysflow.render.words import communicator_kind, plain

_COMMUNICATORS = 40
_STAGE_RANKS = 8
_UNSPLIT = 3
_LARGE_BYTES = 1_000_000
_SLOW = 0.9
_LINK = {
    "nvlink": "NVLink",
    "pcie": "PCIe",
    "infiniband": "InfiniBand",
    "ethernet": "Ethernet",
}
_SOURCE = {"user": "by [job]", "name": "by its name", "traffic": "by its traffic"}


def communicators(found: Mapping[str, Any], limit: int, names: Mapping[str, str]) -> Table | None:
    """Return the communicators by transfer, the largest 40."""
    if state(found):
        return None
    groups = sorted(
        found["groups"], key=lambda g: (-(g["transfer_ns"] or 0), str(g["communicator"]))
    )
    rows = []
    for group in groups[: min(limit, _COMMUNICATORS)]:
        late = max(group["median_late"], key=lambda row: (row["ns"], row["label"]), default=None)
        last = max(group["last_share"], key=lambda row: (row["frac"], row["label"]), default=None)
        rows.append(
            {
                **group,
                "kind": _kind(group),
                "members": len(group["members"]),
                "hosts": len(group["hosts"]),
                "late": f"{rank_name(last['label'], names)}: last in {units.share(last['frac'])}"
                if last
                else None,
                "late_ns": late["ns"] if late else None,
                "speed": _speed(group.get("traffic") or ()),
                "link": _LINK.get(str(group.get("link"))),
            }
        )
    # Where no link is told the note says why, and the column would only take room.
    told = any(row["link"] for row in rows)
    link = (Column("link", "Link", null="not told", wide=True),) if told else ()
    return build(
        "t-communicators",
        "Largest communicators",
        (
            Column("communicator", "Communicator", "name", null="no name"),
            Column("kind", "Kind", "wrap"),
            Column("members", "Members", "count"),
            Column("hosts", "Hosts", "count", wide=True),
            Column("instances", "Instances", "count"),
            Column("wait_ns", "Wait", "ns", null="not split", group="time"),
            Column("transfer_ns", "Transfer", "ns", null="not split", group="time"),
            Column("speed", "Bus bandwidth", "wrap", null="not known", wide=True),
            *link,
            Column("late", "Most often last", "wrap", null="cannot tell", wide=True),
            Column("late_ns", "Latest, median", "ns", null="cannot tell", wide=True),
        ),
        rows,
        note=f"{len(rows)} of {units.some(len(groups), 'communicator')}, the largest transfers "
        f"first. Totals over the kept steps; lateness in the median collective."
        f"{_layout(found)}{_unsplit(groups)}{_no_link(groups)}",
    )


def _kind(group: Mapping[str, Any]) -> str:
    """Return what a communicator is for, and what says so."""
    kind = communicator_kind(group["kind"])
    source = _SOURCE.get(str(group.get("kind_source")))
    return f"{kind} ({source})" if source else kind


def _unsplit(groups: Sequence[Mapping[str, Any]]) -> str:
    """Name the first few communicators that could not be split, with the reason."""
    told = [
        f"{group['communicator'] or 'no id'}: {group['unsplit']}"
        for group in groups
        if group.get("unsplit")
    ]
    more = f" And {len(told) - _UNSPLIT} more." if len(told) > _UNSPLIT else ""
    return "".join(f" {text}." for text in told[:_UNSPLIT]) + more


def _no_link(groups: Sequence[Mapping[str, Any]]) -> str:
    """Say once why links are not told: the reason that most communicators have."""
    reasons = [g["link_evidence"] for g in groups if not g.get("link") and g.get("link_evidence")]
    if not reasons:
        return ""
    most = max(sorted(set(reasons)), key=reasons.count)
    return f" Link not told: {most}."


def _layout(found: Mapping[str, Any]) -> str:
    reason = found.get("layout")
    return f" {str(reason)[:1].upper()}{str(reason)[1:]}." if reason else ""


def _speed(traffic: Sequence[Mapping[str, Any]]) -> str | None:
    """Return the bandwidth of the operation that moves most, and how it compares in the run."""
    # The time of small messages is latency, whatever the link.
    known = [
        row
        for row in traffic
        if row.get("busbw_bytes_per_s") and (row.get("median_bytes") or 0) >= _LARGE_BYTES
    ]
    if not known:
        return None
    row = max(known, key=lambda row: (row["median_bytes"] * row["instances"], row["op"]))
    best = row.get("of_best_frac")
    of = (
        f", {units.share(best)} of the best of its size"
        if best is not None and best < _SLOW
        else ""
    )
    speed = f"{row['busbw_bytes_per_s'] / 1e9:.3g}{units.NARROW}GB/s"
    return f"{plain(str(row['op']))} {speed}{of}"


def pipeline(found: Mapping[str, Any] | None, names: Mapping[str, str]) -> Table | None:
    """Return the pipeline's stages with their bubble."""
    if not found or found["status"] != "ok":
        return None
    batches, theory = found["micro_batches"], found["theory_frac"]
    note = (
        "Micro-batches could not be counted."
        if batches is None
        else f"{len(found['stages'])} stages and {batches} micro-batches cost "
        f"{units.share(theory)} in theory; below 5{units.NARROW}% from "
        f"{found['micro_batches_for_small']} micro-batches."
    )
    more = units.duration(found["imbalance_ns_per_step"])
    rows = [
        {
            **stage,
            "stage": str(stage["stage"]),
            "ranks": ", ".join(rank_name(label, names) for label in stage["labels"][:_STAGE_RANKS])
            + (" …" if len(stage["labels"]) > _STAGE_RANKS else ""),
        }
        for stage in found["stages"]
    ]
    return build(
        "t-pipeline",
        "Pipeline stages, per step",
        (
            Column("stage", "Stage"),
            Column("ranks", "Ranks", "long", wide=True),
            Column("bubble_ns_per_step", "Bubble", "ns", group="time"),
            Column("bubble_frac", "Of step", "share"),
            Column("compute_ns_per_step", "Compute", "ns", group="time"),
        ),
        rows,
        note=f"{note} The longest stage computes {more} more than the mean.",
    )


def clocks(found: Mapping[str, Any], limit: int) -> Table | None:
    """Return the clock offset of every file."""
    offsets = found.get("offsets") or ()
    if not offsets:
        return None
    rows = [{**row, "drift": _drift(row.get("drift_ppb"))} for row in offsets]
    # Only collectives that were matched tell how clocks move apart.
    no_drift = "none seen" if found.get("status") == "aligned" else "not looked for"
    return build(
        "t-clocks",
        "Clock offsets",
        (
            Column("file", "File", "name"),
            Column("offset_ns", "Offset", "ns", null="not aligned"),
            Column("drift", "Drift", null=no_drift),
        ),
        rows[: max(limit, 60)],
    )


def _drift(ppb: int | None) -> str | None:
    return f"{ppb / 1000:+.3f}{units.NARROW}ppm" if ppb else None
