"""The communicators of the run, and what NCCL says of its calls."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nsysflow.demo.plan import GPUS_PER_HOST

if TYPE_CHECKING:
    from nsysflow.demo.plan import Plan

DOMAIN = 1
STATIC_SCHEMA = 1 << 24
# Entry types as NCCL registers them: int, unsigned 64 bit, size_t; larger ones name an enum.
INT32, UINT64, SIZE = 5, 18, 22
_COMM = ("NCCL communicator ID", UINT64, 0)
_BYTES = ("Message size [bytes]", SIZE, 8)
_REDUCTION = ("Reduction operation", STATIC_SCHEMA + 16, 16)

# NCCL 2.27: name of the call -> (static schema, size of the payload, entries).
SCHEMAS: dict[str, tuple[int, int, tuple[tuple[str, int, int], ...]]] = {
    "ncclCommInitRankConfig": (
        11, 24,
        (_COMM, ("No. of ranks", INT32, 8), ("Rank", INT32, 12), ("CUDA device", INT32, 16)),
    ),
    "ncclAllGather": (4, 16, (_COMM, _BYTES)),
    "ncclAllReduce": (5, 24, (_COMM, _BYTES, _REDUCTION)),
    "ncclReduceScatter": (7, 24, (_COMM, _BYTES, _REDUCTION)),
    "ncclSend": (9, 24, (_COMM, _BYTES, ("Peer rank", INT32, 16))),
    "ncclRecv": (10, 24, (_COMM, _BYTES, ("Peer rank", INT32, 16))),
}  # fmt: skip
CALLS = {
    "all_gather": "ncclAllGather",
    "reduce_scatter": "ncclReduceScatter",
    "all_reduce": "ncclAllReduce",
}


@dataclass(frozen=True)
class Communicator:
    """One group of ranks; ``kind`` is tp, fsdp, dp, pp or world."""

    name: str
    kind: str
    members: tuple[int, ...]
    hash: int

    @property
    def hosts(self) -> int:
        """The number of hosts it spans."""
        return len({rank // GPUS_PER_HOST for rank in self.members})


def communicators(plan: Plan) -> dict[str, Communicator]:
    """Return every communicator with at least two members, by name."""
    found = {}
    for kind, groups in _groups(plan).items():
        for number, members in enumerate(groups):
            if len(members) > 1:
                name = f"{kind}{number}"
                digest = hashlib.sha256(f"{plan.seed} {name}".encode()).digest()
                value = int.from_bytes(digest[:8], "little")
                found[name] = Communicator(name, kind, members, value)
    return found


def _groups(plan: Plan) -> dict[str, list[tuple[int, ...]]]:
    tensor, replicas, stage = plan.tensor_parallel, plan.replicas, plan.stage_ranks
    stages = range(plan.pipeline_parallel)
    return {
        "tp": [
            tuple(s * stage + d * tensor + t for t in range(tensor))
            for s in stages
            for d in range(replicas)
        ],
        "fsdp" if plan.data_parallel == "fsdp" else "dp": [
            tuple(s * stage + d * tensor + t for d in range(replicas))
            for s in stages
            for t in range(tensor)
        ],
        "pp": [(s * stage + r, (s + 1) * stage + r) for s in stages[:-1] for r in range(stage)],
        "world": [tuple(range(plan.ranks))],
    }


def by_rank(plan: Plan) -> dict[tuple[int, str], Communicator]:
    """Return the communicator of (rank, kind); a stage's two links are pp_next and pp_previous."""
    found = {}
    for item in communicators(plan).values():
        for position, rank in enumerate(item.members):
            kind = item.kind
            if kind == "pp":
                kind = "pp_next" if position == 0 else "pp_previous"
            found[rank, kind] = item
    return found


def blob(call: str, words: tuple[int, ...]) -> bytes:
    """Return the bytes nsys stores for one payload: header, then NCCL's struct."""
    schema, size, entries = SCHEMAS[call]
    body = bytearray(size)
    for (_, kind, offset), word in zip(entries, words, strict=True):
        struct.pack_into("<Q" if kind in {UINT64, SIZE} else "<i", body, offset, word)
    return struct.pack("<4Q", DOMAIN, STATIC_SCHEMA + schema, size, 32) + bytes(body)
