"""The true answers of a run, from its schedule.

``truth.json`` holds::

    format      1
    plan        the options; layout {ranks, tp, pp, replicas, data_parallel, layers, micro_batches}
    model       {params, flops_per_token, attention, tokens_per_step, peak_flops, dtype}
    communicators [{name, kind, members, hash}]      hash: the 64-bit id as text
    straggler   {rank, cause, extra_ns_per_step} | null      extra: null if compute
    late_by_step [rank | null]                       who is late in each step
    ranks       [{rank, file, host, pid, device,
                  clock {session_true_ns, drift_ppb, utc_ns, offset_ns},
                  period_ns, mfu, tokens_per_s_per_gpu, steps: [STEP]}]
    instances   [{communicator, op, step, bytes, transfer_ns, last_ns, end_ns, arrivals_ns}]
                the collectives of the first kept steps, in true ns, members in order; capped
    totals      {mfu, period_ns, kept}               medians over ranks

A STEP, all times on the rank's own capture clock::

    index, number, start_ns, end_ns        from the end of the last op of the step
                                           before on the compute stream to the end of this one's
    kept, reasons                          leading_gap_unseen | jit_or_load | eval | checkpoint
    buckets   compute_only compute_comm_overlap exposed_comm exposed_mem graph_opaque idle;
              they sum to end_ns - start_ns
    idle      {cause: ns}, sums to buckets.idle
    syncs     {count, host_ns, bytes}      the blocking ``.item()`` calls, bytes copied by them
    kernels   {class: {count, work_ns}}    owned by the step: launched inside its host range
    copies    {h2d | d2h | memset: {count, bytes, work_ns}}
    collectives {communicator kind:op: {count, bytes, work_ns, wait_ns, transfer_ns}}

``offset_ns`` brings a capture's time to that of rank 0 as the first step begins, before clocks
part: ``t_rank0 = t + offset_ns``. The truth is what was planted, whatever evidence was written.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from nsysflow.demo.device import STREAMS
from nsysflow.demo.idle import Gaps, causes
from nsysflow.demo.intervals import gaps, union_ns
from nsysflow.demo.kernels import KINDS, TABLE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from nsysflow.demo.record import Rows, Times

COMPUTE, COMM, MEMORY = range(3)
COPIES = {0: "memset", 1: "h2d", 2: "d2h"}
LOAD_SHARE = 0.01  # below, a step with module loading is as good as any
OTHERS_NEEDED = 3  # complete steps that let the one with the unseen start be dropped
_KIND_OF = np.array([KINDS.index(kernel.kind) for kernel in TABLE])
_COMM_KIND = KINDS.index("comm")


@dataclass
class Ops:
    """Device work of one rank on its own clock, one row per op."""

    columns: dict[str, Times]

    @classmethod
    def of(cls, kernels: Rows, copies: Rows, times: tuple[Times, Times]) -> Ops:
        """Join kernels and copies; ``times`` are (4, rows) each, on the rank's clock."""
        kind = np.concatenate(
            [
                np.where(_KIND_OF[kernels.shared["kernel"]] == _COMM_KIND, COMM, COMPUTE),
                np.full(copies.count, MEMORY),
            ]
        )
        names = ("launch_start", "launch_end", "start", "end")
        both = np.concatenate(times, axis=1)
        columns = dict(zip(names, both, strict=True)) | {
            "kind": kind,
            "class": np.concatenate(
                [_KIND_OF[kernels.shared["kernel"]], -1 - copies.shared["kind"]]
            ),
            "bytes": np.concatenate(
                [np.zeros(kernels.count, dtype=np.int64), copies.shared["bytes"]]
            ),
            "stream": np.concatenate([kernels.shared["stream"], copies.shared["stream"]]),
        }
        return cls(columns)

    def join(self, other: Ops) -> Ops:
        """Return both."""
        pairs = self.columns.items()
        return Ops({name: np.concatenate([own, other.columns[name]]) for name, own in pairs})

    def where(self, mask: np.ndarray) -> Ops:
        """Return the chosen rows."""
        return Ops({name: column[mask] for name, column in self.columns.items()})

    def __getitem__(self, name: str) -> Times:
        """Return one column."""
        return self.columns[name]


@dataclass
class RankTruth:
    """The steps of one rank so far."""

    first_number: int
    steps: list[dict[str, Any]] = field(default_factory=list)
    ops: Ops | None = None
    doing: dict[str, list[tuple[int, int]]] = field(default_factory=lambda: defaultdict(list))
    edge: int | None = None
    last_launch: int = 0

    def step(
        self, new: Ops, doing: Sequence[tuple[str, int, int]], host: tuple[int, int]
    ) -> dict[str, Any]:
        """Add one step: its device work, what the host was doing, its host range."""
        ops = new if self.ops is None else self.ops.join(new)
        for label, start, end in doing:
            self.doing[label].append((start, end))
        owned = ops.where((ops["launch_start"] >= host[0]) & (ops["launch_start"] <= host[1]))
        on_primary = owned["stream"] == STREAMS["compute"]
        high = int(owned["end"][on_primary].max())
        low = int(owned["start"].min()) if self.edge is None else self.edge
        found = {
            "index": len(self.steps),
            "number": self.first_number + len(self.steps),
            "start_ns": low,
            "end_ns": high,
            "reasons": self._reasons(host),
            "buckets": _buckets(ops, low, high),
            "idle": causes(_gaps(ops, low, high, self.last_launch), self.doing),
            "syncs": self._syncs(owned, host),
            **_owned(owned),
        }
        self._carry(ops, high, host)
        self.steps.append(found)
        return found

    def _reasons(self, host: tuple[int, int]) -> list[str]:
        found = ["leading_gap_unseen"] if self.edge is None else []
        return found + [
            label
            for label in ("eval", "checkpoint")
            if any(host[0] <= start <= host[1] for start, _ in self.doing[label])
        ]

    def _syncs(self, owned: Ops, host: tuple[int, int]) -> dict[str, int]:
        calls = [(a, b) for a, b in self.doing["sync"] if host[0] <= a <= host[1]]
        read = owned["class"] == -1 - 2
        return {
            "count": len(calls),
            "host_ns": sum(b - a for a, b in calls),
            "bytes": int(owned["bytes"][read].sum()),
        }

    def _carry(self, ops: Ops, high: int, host: tuple[int, int]) -> None:
        launched = ops["launch_start"] <= host[1]
        self.last_launch = max(self.last_launch, int(ops["launch_end"][launched].max()))
        self.ops = ops.where((ops["end"] > high) | ~launched)
        self.edge = high
        for label, spans in self.doing.items():
            self.doing[label] = [span for span in spans if span[1] > high or span[0] > host[1]]


def settle(steps: list[dict[str, Any]]) -> None:
    """Decide which steps are kept, and say why the others are not."""
    for step in steps:
        window = step["end_ns"] - step["start_ns"]
        if step["idle"].get("jit_or_load", 0) >= LOAD_SHARE * window:
            step["reasons"].append("jit_or_load")
    others = sum(not step["reasons"] for step in steps)
    for step in steps:
        only_unseen = step["reasons"] == ["leading_gap_unseen"]
        step["kept"] = not step["reasons"] or (only_unseen and others < OTHERS_NEEDED)


def _buckets(ops: Ops, low: int, high: int) -> dict[str, int]:
    def covered(*kinds: int) -> int:
        chosen = np.isin(ops["kind"], kinds)
        return union_ns(ops["start"][chosen], ops["end"][chosen], low, high)

    compute, comm = covered(COMPUTE), covered(COMM)
    both, busy = covered(COMPUTE, COMM), covered(COMPUTE, COMM, MEMORY)
    overlap = compute + comm - both
    return {
        "compute_only": compute - overlap,
        "compute_comm_overlap": overlap,
        "exposed_comm": both - compute,
        "exposed_mem": busy - both,
        "graph_opaque": 0,
        "idle": high - low - busy,
    }


def _gaps(ops: Ops, low: int, high: int, last_launch: int) -> Gaps:
    # Of two that start together the compute stream's ends the gap.
    order = np.lexsort((ops["stream"], ops["start"]))
    start, end = ops["start"][order], ops["end"][order]
    reached = np.maximum.accumulate(np.concatenate([[low], end[:-1]]))
    opened, closing = gaps(start, end, reached, low, high)
    launch_start, launch_end = ops["launch_start"][order], ops["launch_end"][order]
    calls = np.argsort(launch_start, kind="stable")
    ended = np.maximum.accumulate(np.concatenate([[last_launch], launch_end[calls]]))
    before = ended[np.searchsorted(launch_start[calls], launch_start[closing], side="left")]
    return Gaps(opened, start[closing], launch_start[closing], launch_end[closing], before)


def _owned(owned: Ops) -> dict[str, Any]:
    work = owned["end"] - owned["start"]
    kernels, copies = {}, {}
    for number, name in enumerate(KINDS):
        chosen = owned["class"] == number
        if chosen.any():
            kernels[name] = {"count": int(chosen.sum()), "work_ns": int(work[chosen].sum())}
    for kind, name in COPIES.items():
        chosen = owned["class"] == -1 - kind
        if chosen.any():
            copies[name] = {
                "count": int(chosen.sum()),
                "bytes": int(owned["bytes"][chosen].sum()),
                "work_ns": int(work[chosen].sum()),
            }
    return {"kernels": kernels, "copies": copies}
