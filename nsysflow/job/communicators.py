"""The communicators of the job: who is in them, what for, how long they wait and transfer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nsysflow.job.clocks import Capture
from nsysflow.job.lanes import NEVER, NONE, Ints
from nsysflow.job.links import Links
from nsysflow.job.shares import bandwidth
from nsysflow.job.study import Study
from nsysflow.job.waits import UNSPLIT
from nsysflow.model import COLLECTIVE_OPS
from nsysflow.shares import frac, median_ns


def groups(study: Study, captures: Sequence[Capture], moved: Ints) -> list[dict[str, Any]]:
    """Return one row per communicator, the longest transfer first."""
    rows = study.members.op
    number = study.found.group[study.members.at]
    order = np.argsort(number, kind="stable")
    edges = np.searchsorted(number[order], np.arange(len(study.found.groups) + 1))
    links = Links(study, captures)
    found = [
        _group(study, k, rows[order[edges[k] : edges[k + 1]]], moved)
        | links.of(study.found.groups[k].lanes, rows[order[edges[k] : edges[k + 1]]])
        for k in range(len(study.found.groups))
        if len(study.found.groups[k].lanes) > 1
    ]
    _best(found)
    return sorted(
        found,
        key=lambda g: (-(g["transfer_ns"] or 0), g["communicator"] or "", g["members"]),
    )


def _group(study: Study, number: int, rows: Ints, moved: Ints) -> dict[str, Any]:
    each, ops, waits = study.found.groups[number], study.ops, study.waits
    rows = rows[ops.owned[rows]]
    until = waits.until[rows]
    split = until != NEVER
    hosts = {study.lanes[lane].host for lane in each.lanes}
    instances = len(np.unique(study.found.instance[rows]))
    told = bool(split.any())
    return {
        "communicator": each.name,
        "kind": study.kind[number],
        "kind_source": study.kind_source[number],
        "members": [study.lanes[lane].label for lane in each.lanes],
        "size": each.size,
        "hosts": sorted(host for host in hosts if host is not None),
        "instances": instances,
        "wait_ns": int((until - ops["start_ns"][rows])[split].sum()) if told else None,
        "unsplit": _unsplit(study, rows),
        "transfer_ns": int((ops["end_ns"][rows] - until)[split].sum()) if told else None,
        "median_late": _late(study, each.lanes, rows) if waits.by_arrival else [],
        "last_share": _last(study, each.lanes, rows, instances) if waits.by_arrival else [],
        "traffic": _traffic(study, rows, moved, each.size or len(each.lanes)),
    }


def _unsplit(study: Study, rows: Ints) -> str | None:
    """Say how many ops could not be split and why, the most frequent reason; None if all were."""
    why = study.waits.unsplit[rows]
    codes, count = np.unique(why[why != NONE], return_counts=True)
    if not len(codes):
        return None
    most = int(np.argmax(count))
    return f"{int(count.sum())} of {len(rows)} not split: {UNSPLIT[int(codes[most])]}"


def _late(study: Study, lanes: tuple[int, ...], rows: Ints) -> list[dict[str, Any]]:
    lane, late = study.ops["lane"][rows], study.waits.late[rows]
    told = study.waits.until[rows] != NEVER
    found = []
    for each in lanes:
        middle = median_ns(late[(lane == each) & told].tolist())
        if middle is not None:
            found.append({"label": study.lanes[each].label, "ns": middle})
    return found


def _last(study: Study, lanes: tuple[int, ...], rows: Ints, instances: int) -> list[dict[str, Any]]:
    lane, last = study.ops["lane"][rows], study.waits.last[rows]
    return [
        {"label": study.lanes[k].label, "frac": frac(int(last[lane == k].sum()), instances) or 0.0}
        for k in lanes
    ]


def _traffic(study: Study, rows: Ints, moved: Ints, ranks: int) -> list[dict[str, Any]]:
    """Return size, time and bandwidth by operation."""
    op, size = study.ops["op"][rows], study.ops["bytes"][rows]
    instance = study.found.instance[rows]
    found = []
    for code in np.unique(op):
        numbers, first = np.unique(instance[op == code], return_index=True)
        sizes, times = size[op == code][first], moved[numbers]
        algbw, busbw = bandwidth(COLLECTIVE_OPS[code], ranks, sizes, times)
        known, timed = sizes[sizes >= 0], times[times != NONE]
        found.append(
            {
                "op": COLLECTIVE_OPS[code],
                "instances": len(numbers),
                "median_bytes": median_ns(known.tolist()),
                "median_transfer_ns": median_ns(timed.tolist()),
                "algbw_bytes_per_s": algbw,
                "busbw_bytes_per_s": busbw,
                "of_best_frac": None,
            }
        )
    return found


def _best(found: list[dict[str, Any]]) -> None:
    """Compare each bandwidth with the best for its operation, size decade and one or more hosts."""
    best: dict[tuple[str, int, bool], float] = {}
    for turn in (0, 1):
        for group in found:
            for row in group["traffic"]:
                if not row["busbw_bytes_per_s"] or not row["median_bytes"]:
                    continue
                decade = len(str(row["median_bytes"]))
                key = (row["op"], decade, len(group["hosts"]) > 1)
                if turn == 0:
                    best[key] = max(best.get(key, 0.0), row["busbw_bytes_per_s"])
                else:
                    row["of_best_frac"] = round(row["busbw_bytes_per_s"] / best[key], 6)
