"""What NCCL says of its own calls, out of payloads in every coding."""

from __future__ import annotations

import json
import struct
from pathlib import Path

from tests.support.export import (
    Export,
    global_pid,
)
from tests.support.stores import (
    one_kernel,
    store_of,
)

NONE = None


def payload(schema: int, content: bytes, *, as_hex: bool = False) -> bytes | str:
    cell = struct.pack("<4Q", 3, schema, len(content), 32) + content
    return cell.hex() if as_hex else cell


def nccl_export() -> Export:
    export = one_kernel()
    entries = {
        100: [
            ("NCCL communicator ID", 18, NONE),
            ("No. of ranks", 5, 8),
            ("Rank", 5, 12),
            ("CUDA device", 5, 16),
        ],
        101: [
            ("NCCL communicator ID", 18, 0),
            ("Message size [bytes]", 22, 8),
            ("Reduction operation", 1 << 24, 16),
        ],
        102: [
            ("NCCL communicator ID", 18, 0),
            ("Message size [bytes]", 22, 8),
            ("Peer rank", 5, 16),
        ],
    }
    for _ in range(2):  # once per process
        for schema, fields in entries.items():
            for index, (name, kind, offset) in enumerate(fields):
                export.row(
                    "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                    domainId=3,
                    schemaId=schema,
                    idx=index,
                    type=kind,
                    name=name,
                    offset=offset,
                )
    export.nvtx("NCCL", 0, None, kind=75, domain=3)
    comm = 0xFEDCBA9876543210
    init = struct.pack("<Qiii", comm, 8, 5, 2)
    reduce = struct.pack("<QQI", comm, 1 << 33, 0)
    send = struct.pack("<QQi", comm, 64, 7)
    calls = [
        ("ncclCommInitRankConfig", payload(100, init), NONE),
        ("ncclAllReduce", payload(101, reduce, as_hex=True), NONE),
        ("ncclSend", payload(102, send), NONE),
        (
            "ncclAllGather",
            NONE,
            json.dumps({"NCCL communicator ID": comm, "Message size [bytes]": 32}),
        ),
        ("ncclGroupStart", NONE, NONE),
        ("ncclBroadcast", payload(999, reduce), "not json"),
        ("ncclReduce", payload(101, reduce)[:40], NONE),
        ("ncclCommCount", NONE, NONE),
        ("something else", NONE, NONE),
    ]
    for number, (name, binary, text) in enumerate(calls):
        at = {"domain": 3, "registered": True, "binaryData": binary, "jsonText": text}
        export.nvtx(name, number * 10, number * 10 + 5, **at)
    return export


def test_what_nccl_says_of_its_calls(tmp_path: Path) -> None:
    store = store_of(nccl_export(), tmp_path)
    comm = "0xfedcba9876543210"
    assert store.rows(
        "nccl_call", "op, bytes, comm, ranks, rank, device, peer, root", "start_ns"
    ) == [
        ("comm_init", NONE, comm, 8, 5, 2, NONE, NONE),
        ("all_reduce", 1 << 33, comm, NONE, NONE, NONE, NONE, NONE),
        ("send_recv", 64, comm, NONE, NONE, NONE, 7, NONE),
        ("all_gather", 32, comm, NONE, NONE, NONE, NONE, NONE),
        ("group_start", NONE, NONE, NONE, NONE, NONE, NONE, NONE),
        ("broadcast", NONE, NONE, NONE, NONE, NONE, NONE, NONE),
        ("reduce", NONE, NONE, NONE, NONE, NONE, NONE, NONE),
    ]
    assert store.capture["rank_evidence"]["nccl"] == [
        {"pid": 100, "rank": 5, "ranks": 8, "device": 2, "comm": comm}
    ]
    assert store.capture["rank_evidence"]["world_size"] == 8
    assert store.rows("nvtx_domain") == [(global_pid(100) >> 24, 3, "NCCL")]


def test_a_domain_number_is_nccl_only_in_its_process(tmp_path: Path) -> None:
    export = one_kernel()
    export.nvtx("NCCL", 0, None, kind=75, domain=1, pid=1)
    export.nvtx("cub", 0, None, kind=75, domain=1, pid=2)
    for pid in (1, 2, 3):
        export.nvtx("ncclAllReduce", 10, 20, domain=1, pid=pid)
        export.nvtx("AllReduce", 30, 40, domain=1, pid=pid)
    rows = store_of(export, tmp_path).rows("nccl_call", "process & 16777215, start_ns")
    # Process 3 lost the name of its domain; there only the full name of a call is believed.
    assert rows == [(1, 10), (1, 30), (3, 10)]
