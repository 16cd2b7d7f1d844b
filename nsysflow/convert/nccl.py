"""NCCL's own account of its calls: annotations with payloads, as table ``nccl_call``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pyarrow as pa

from nsysflow.convert import payload
from nsysflow.convert.requests import NVTX, NVTX_PAYLOAD_FIELDS
from nsysflow.convert.work import Work
from nsysflow.read import Only, Request, integer, text

_ROWS_AT_ONCE = 50_000

# Names of calls, without ``nccl`` and case, -> the op of the store.
_OPS = {
    "allreduce": "all_reduce",
    "allgather": "all_gather",
    "allgatherv": "all_gather",
    "reducescatter": "reduce_scatter",
    "broadcast": "broadcast",
    "bcast": "broadcast",
    "reduce": "reduce",
    "alltoall": "all_to_all",
    "send": "send_recv",
    "recv": "send_recv",
    "gather": "gather",
    "scatter": "scatter",
    "commsplit": "comm_split",
    "commshrink": "comm_split",
    "commgrow": "comm_split",
    "commdestroy": "comm_destroy",
    "commabort": "comm_destroy",
    "commfinalize": "comm_destroy",
    "commrevoke": "comm_destroy",
    "groupstart": "group_start",
    "groupend": "group_end",
}
_COMM_KEYS = ("NCCL communicator ID", "commHash", "comm")
_KEYS = {
    "bytes": ("Message size [bytes]",),
    "ranks": ("No. of ranks", "nRanks"),
    "rank": ("Rank", "commRank", "rank"),
    "device": ("CUDA device",),
    "peer": ("Peer rank", "peer"),
    "root": ("Root", "root"),
}
_NAME_KEYS = ("NCCL communicator name", "Communicator name", "commName")
_MOST_NAME = 256
# Rows of the advanced trace that carry these are device work, split by channel, not calls.
_DEVICE_KEYS = ("operationId", "localId")
_TYPE_BYTES = (1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1)
_TYPE_NAMES = (
    *("int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "float32", "float64"),
    *("bfloat16", "float8e4m3", "float8e5m2"),
)
_SCHEMA = pa.schema(
    [
        *((name, pa.int64()) for name in ("thread", "start_ns", "end_ns")),
        ("op", pa.string()),
        ("bytes", pa.int64()),
        ("comm", pa.string()),
        *((name, pa.int32()) for name in ("ranks", "rank", "device", "peer", "root")),
        ("comm_name", pa.string()),
    ]
)


def nccl_calls(work: Work) -> None:
    """Write nccl_call; empty where NCCL said nothing."""
    work.connection.register("_none", _SCHEMA.empty_table())
    work.connection.execute("CREATE OR REPLACE TABLE _nccl_call AS FROM _none")
    names = _names(work)
    if names:
        _load(work, names)
    work.save("nccl_call")


def op_of(name: str) -> str | None:
    """Return the op of a call by its name, None if it is no call that matters."""
    short = name.removeprefix("p").removeprefix("nccl").lower()
    if short.startswith("comminit"):
        return "comm_init"
    return _OPS.get(short)


def _names(work: Work) -> list[dict[str, Any]]:
    work.create("nccl_domain", "_nccl_domain")
    found = work.connection.execute("FROM _nccl_domain ORDER BY ALL").fetchall()
    names = []
    for domain, name_id, name, sure in found:
        legacy = name.startswith(("nccl", "pnccl"))
        op = op_of(name) if legacy or sure else None
        if op:
            names.append({"domain": domain, "name_id": name_id, "op": op, "legacy": legacy})
    return names


def _load(work: Work, names: list[dict[str, Any]]) -> None:
    work.connection.register("_names", pa.Table.from_pylist(names))
    work.connection.execute("CREATE OR REPLACE TABLE _nccl_name AS FROM _names")
    domains = tuple(sorted({name["domain"] for name in names}))
    request = Request(NVTX, NVTX_PAYLOAD_FIELDS, Only("domainId", domains))
    work.create("nccl_row", "_nccl_row", {"_raw_nccl": request})
    known = payload.schemas(
        work.raw.rows(
            work.connection,
            "NVTX_PAYLOAD_SCHEMA_ENTRIES",
            integer("domain", "domainId"),
            integer("schema", "schemaId"),
            integer("type"),
            text("name"),
            integer("offset"),
        )
    )
    for calls in _calls(work, known):
        work.connection.register("_calls", pa.Table.from_pylist(calls, _SCHEMA))
        work.connection.execute("INSERT INTO _nccl_call FROM _calls")


def _calls(work: Work, known: payload.Schemas) -> Iterator[list[dict[str, Any]]]:
    # A cursor of its own: the rows are still being read while the calls are written.
    with work.connection.cursor() as cursor:
        cursor.execute("SELECT thread, start_ns, end_ns, op, payload, json FROM _nccl_row")
        while rows := cursor.fetchmany(_ROWS_AT_ONCE):
            calls = []
            for thread, start, end, op, cell, written in rows:
                fields = payload.binary(cell, known) or payload.from_json(written)
                if not any(key in fields for key in _DEVICE_KEYS):
                    where = {"thread": thread, "start_ns": start, "end_ns": end, "op": op}
                    calls.append(where | call_fields(fields))
            yield calls


def call_fields(fields: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of nccl_call that a payload tells."""
    known: dict[str, Any] = {
        column: payload.whole(_first(fields, keys), 63 if column == "bytes" else 31)
        for column, keys in _KEYS.items()
    }
    if known["bytes"] is None:
        known["bytes"] = _counted_bytes(fields)
    comm = payload.whole(_first(fields, _COMM_KEYS), 64)
    known["comm"] = None if comm is None else f"0x{comm % (1 << 64):016x}"
    name = _first(fields, _NAME_KEYS)
    known["comm_name"] = name[:_MOST_NAME] if isinstance(name, str) and name else None
    return known


def _first(fields: dict[str, Any], keys: tuple[str, ...]) -> object:
    return next((fields[key] for key in keys if fields.get(key) is not None), None)


def _counted_bytes(fields: dict[str, Any]) -> int | None:
    count, kind = payload.whole(fields.get("count")), fields.get("dataType")
    number = payload.whole(kind)
    if number is None and isinstance(kind, str):
        name = kind.lower().removeprefix("nccl")
        number = _TYPE_NAMES.index(name) if name in _TYPE_NAMES else None
    if count is None or number is None or not 0 <= number < len(_TYPE_BYTES):
        return None
    return count * _TYPE_BYTES[number]
