"""What the stages of the job need of a lane: small tables, so that they never read a trace.

``collective``     the lane's communication ops                       sql/stages/collective.sql
``exposed_piece``  stretches in which one of them held the GPU up      sql/stages/exposed_piece.sql
``lane_piece``     all other time of the kept steps, cut at the edges of collectives and of what
                   they exposed: (step, start_ns, end_ns, bucket, cause, ns)
``lane_step``      the kept steps by bucket and cause, exposed communication apart:
                   (step, bucket, cause, ns)
``timeline_collective``  which collectives the marks of the timeline are
``lane_metric``    what the sampled counters of the GPU show              sql/stages/lane_metric.sql
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from nsysflow.analyse.beside import keep_beside
from nsysflow.analyse.coverage import Coverage
from nsysflow.analyse.facts import Facts
from nsysflow.analyse.intervals import Ints, Spans, minus
from nsysflow.analyse.level1 import measure_level1
from nsysflow.analyse.workspace import Workspace
from nsysflow.model import BUCKETS, HOST_CAUSES, IDLE_CAUSES

TABLES = (
    "collective", "exposed_piece", "lane_piece", "lane_step", "lane_metric", "timeline_collective",
)  # fmt: skip
# Shorter stretches are turn-arounds between kernels: no rank waits there for another.
LEAST_CUT_NS = 2_000
_PLAIN = tuple(bucket for bucket in BUCKETS if bucket not in ("exposed_comm", "idle"))
# Every (bucket, cause) of a piece, by number.
PARTS: tuple[tuple[str, str | None], ...] = (
    *((bucket, None) for bucket in _PLAIN),
    *(("idle", cause) for cause in IDLE_CAUSES),
)
_STEP_TYPES = {"step": "int32", "number": "int64", "host_ns": "int64", "device_ns": "int64"}


def make_collectives(work: Workspace, facts: Facts, lane: int) -> None:
    """Make ``collective`` and ``exposed_piece`` of a lane, by its number in the trace."""
    windows = facts.steps.windows if facts.steps.source != "none" else ()
    rows = [
        {
            "step": w.index,
            "number": w.number,
            "host_ns": w.host[0],
            "device_ns": w.start_ns,
        }
        for w in windows
    ]
    work.put("step_start", rows, _STEP_TYPES)
    first, last = facts.lanes
    work.table("nccl_grouped", process=facts.process)
    work.table("nccl_seat", process=facts.process)
    work.table("nccl_sharer", first_lane=first, last_lane=last)
    work.table("nccl_launch", lane=lane)
    work.table("comm_range", process=facts.process)
    work.table("group_range", process=facts.process)
    work.table("comm_op")
    keep_beside(work, facts.ops)
    work.table("comm_place")
    work.table("comm_link")
    work.table("collective", by_start=facts.steps.by_start)
    work.table("exposed_piece")


def save_pieces(work: Workspace, facts: Facts, folder: Path) -> None:
    """Cut the kept steps into pieces and write all tables of the lane into ``folder``.

    Level 1 is measured anew with the cuts as its segments, so the stage ``segment`` is theirs
    from here on.

    Raises:
        AssertionError: the pieces do not sum to the kept steps, a fault of the measurement.
    """
    folder.mkdir(parents=True, exist_ok=True)
    work.table("lane_metric")
    _cut(work, facts)
    measure_level1(work, facts.ops, work.kept("segment"))
    _keep_pieces(work, facts)
    for stem in TABLES:
        work.save(stem, folder / f"{stem}.parquet")


def _cut(work: Workspace, facts: Facts) -> None:
    """Replace ``segment`` by the time line cut at every edge that the walk may ask for."""
    segments = facts.segments()
    edges = np.array([row["start_ns"] for row in segments] + [segments[-1]["end_ns"]], np.int64)
    collective, exposed = work.kept("collective"), work.kept("exposed_piece")
    start, end = exposed["start_ns"].to_numpy(), exposed["end_ns"].to_numpy()
    long = end - start >= LEAST_CUT_NS
    inner = [collective[name].to_numpy() for name in ("start_ns", "end_ns")]
    cuts = np.unique(np.concatenate([edges, *inner, start[long], end[long]]))
    cuts = cuts[(cuts >= edges[0]) & (cuts <= edges[-1])]
    # Of segments without a length the last is the one that time goes on in.
    place = np.searchsorted(edges[:-1], cuts[:-1], side="right") - 1
    kept = np.array([row["kept"] for row in segments])
    step = np.array([-1 if row["step"] is None else row["step"] for row in segments], np.int32)
    table = pa.table(
        {
            "segment": np.arange(len(place), dtype=np.int32),
            "step": step[place],
            "kept": kept[place],
            "start_ns": cuts[:-1],
            "end_ns": cuts[1:],
        }
    )
    work.keep("segment", table)


def _keep_pieces(work: Workspace, facts: Facts) -> None:
    segment, level1 = work.kept("segment"), work.kept("level1")
    kept = np.flatnonzero(segment["kept"].to_numpy(zero_copy_only=False))
    start, end, step = (segment[name].to_numpy()[kept] for name in ("start_ns", "end_ns", "step"))
    at, code, ns = _parts(work, level1, kept, (start, end))
    _check(work, facts, ns, level1["exposed_comm"].to_numpy()[kept])
    columns = {"step": step[at], "start_ns": start[at], "end_ns": end[at]}
    work.keep("lane_piece", pa.table(columns | _named(code) | {"ns": ns}))
    _keep_steps(work, step[at], code, ns)


def _parts(
    work: Workspace, level1: pa.Table, kept: Ints, times: tuple[Ints, Ints]
) -> tuple[Ints, Ints, Ints]:
    """Return what is not zero, by stretch and number of its part: both, and the length in ns."""
    found = [np.empty((3, 0), np.int64)]

    def add(part: tuple[str, str | None], length: Ints) -> None:
        some = np.flatnonzero(length)
        code = np.full(len(some), PARTS.index(part))
        found.append(np.stack([some, code, length[some]]))

    for bucket in _PLAIN:
        add((bucket, None), level1[bucket].to_numpy()[kept])
    for cause, idle in _idle(work):
        add(("idle", cause), Coverage.of(idle.start, idle.end).between(*times))
    at, code, ns = np.concatenate(found, axis=1)
    order = np.lexsort((code, at))
    return at[order], code[order], ns[order]


def _keep_steps(work: Workspace, step: npt.NDArray[np.int32], code: Ints, ns: Ints) -> None:
    numbers, place = np.unique(step, return_inverse=True)
    sums = np.zeros((len(numbers), len(PARTS)), np.int64)
    np.add.at(sums, (place, code), ns)
    row, part = np.nonzero(sums)
    columns = {"step": numbers[row]} | _named(part) | {"ns": sums[row, part]}
    work.keep("lane_step", pa.table(columns))


def _named(code: Ints) -> dict[str, pa.Array]:
    names = {"bucket": [part[0] for part in PARTS], "cause": [part[1] for part in PARTS]}
    return {name: pa.array(texts).take(pa.array(code)) for name, texts in names.items()}


def _idle(work: Workspace) -> Iterator[tuple[str, Spans]]:
    """Yield each cause with the idle stretches of the kept steps under it."""
    claim = work.kept("host_claim", "start_ns", "end_ns", "place", "in_call")
    start, end, place, in_call = (column.to_numpy() for column in claim.columns)
    for k, cause in enumerate(HOST_CAUSES):
        yield cause, _sorted(start[place == k], end[place == k])
    claimed = _sorted(start[in_call], end[in_call])
    del claim, start, end, place, in_call
    part = work.arrow("idle_part", causes=list(IDLE_CAUSES))
    start, end, code = (part[name].to_numpy() for name in ("start_ns", "end_ns", "cause"))
    del part
    for k in np.unique(code).tolist():
        # The engine counts from one.
        yield IDLE_CAUSES[k - 1], minus(_sorted(start[code == k], end[code == k]), claimed)


def _sorted(start: Ints, end: Ints) -> Spans:
    if (start[1:] < start[:-1]).any():
        order = np.argsort(start, kind="stable")
        start, end = start[order], end[order]
    return Spans(start, end, np.zeros(len(start), np.int64))


def _check(work: Workspace, facts: Facts, ns: Ints, exposed: Ints) -> None:
    piece = work.kept("exposed_piece")
    length = int((piece["end_ns"].to_numpy() - piece["start_ns"].to_numpy()).sum())
    if length != int(exposed.sum()):
        raise AssertionError("the stretches of exposed communication do not sum to its bucket")
    if int(ns.sum()) + length != facts.window_ns:
        raise AssertionError("the pieces do not sum to the kept steps")
