"""What a trace knows about its rank. Of the environment only the names below leave this file."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from nsysflow import sqlfile
from nsysflow.convert.work import Work
from nsysflow.read import integer, text

NAMES = (
    "RANK",
    "WORLD_SIZE",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "GROUP_RANK",
    "NODE_RANK",
    "SLURM_PROCID",
    "SLURM_NTASKS",
    "SLURM_NPROCS",
    "SLURM_LOCALID",
    "SLURM_NODEID",
    "OMPI_COMM_WORLD_RANK",
    "OMPI_COMM_WORLD_SIZE",
    "OMPI_COMM_WORLD_LOCAL_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "PMIX_RANK",
    "PMIX_SIZE",
    "MV2_COMM_WORLD_RANK",
    "MV2_COMM_WORLD_SIZE",
    "JSM_NAMESPACE_RANK",
    "JSM_NAMESPACE_SIZE",
    "FLUX_TASK_RANK",
    "FLUX_JOB_SIZE",
    "PALS_RANKID",
    "ALPS_APP_PE",
    "HOROVOD_RANK",
    "HOROVOD_SIZE",
    "CUDA_VISIBLE_DEVICES",
)
# Anything else under these names is not what it claims to be, and is not passed on.
_NUMBER = re.compile(r"\d{1,9}")
_DEVICES = re.compile(r"[\w,:/ -]{0,512}", re.ASCII)
_WORLD = ("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_NTASKS")
_PID_BITS, _PID_MASK = 24, 0xFFFFFF


def environment(work: Work) -> dict[str, str]:
    """Return the whitelisted variables; the command's own environment first.

    Must run before the texts of StringIds that hold environments are deleted.
    """
    found: dict[str, str] = {}
    for pairs in (_captured(work), _machine(work), _blocks(work)):
        for name, values in _known(pairs).items():
            # Several processes that disagree tell nothing about the file.
            if name not in found and len(values) == 1:
                found[name] = values.pop()
    return dict(sorted(found.items()))


def rank_evidence(work: Work, env: dict[str, str], input_name: str | None) -> dict[str, Any]:
    """Return what capture.json says under that name."""
    nccl = _nccl(work)
    sizes = [int(env[name]) for name in _WORLD[:1] if name in env]
    sizes += [max((row["ranks"] for row in nccl if row["ranks"]), default=0)]
    sizes += [int(env[name]) for name in _WORLD[1:] if name in env]
    return {
        "mpi": _mpi(work),
        "nccl": nccl,
        "env": env,
        "world_size": next((size for size in sizes if size > 0), None),
        "input_name": input_name,
    }


def _captured(work: Work) -> list[tuple[str, str]]:
    rows = work.raw.rows(work.connection, "META_DATA_CAPTURE", text("name"), text("value"))
    pairs = []
    for row in rows:
        if (row["name"] or "").endswith("ENVIRONMENT_VARIABLE"):
            name, _, value = (row["value"] or "").partition("=")
            pairs.append((name, _bare(value)))
    return pairs


def _machine(work: Work) -> list[tuple[str, str]]:
    rows = work.raw.rows(work.connection, "TARGET_INFO_SYSTEM_ENV", text("name"), text("value"))
    blocks = (row["value"] or "" for row in rows if row["name"] == "DeviceEnvironment")
    return [_pair(item) for block in blocks for item in block.split(_separator(block))]


def _blocks(work: Work) -> list[tuple[str, str]]:
    rows = work.connection.execute(sqlfile.load("convert", "environment_block").text).fetchall()
    return [_pair(item) for (block,) in rows for item in block.split("\0")]


def _separator(block: str) -> str:
    """Return what ends a variable of this block: a value may hold the weaker ones."""
    return next((mark for mark in ("\0", "\n") if mark in block.strip(mark)), ";")


def _pair(item: str) -> tuple[str, str]:
    name, _, value = item.partition("=")
    return name.strip(), _bare(value)


def _bare(value: str) -> str:
    return value.strip().strip("\"'")


def _known(pairs: Iterable[tuple[str, str]]) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for name, value in pairs:
        shape = _DEVICES if name == "CUDA_VISIBLE_DEVICES" else _NUMBER
        if name in NAMES and shape.fullmatch(value):
            found.setdefault(name, set()).add(value)
    return found


def _mpi(work: Work) -> list[dict[str, int]]:
    rows = work.raw.rows(
        work.connection, "MPI_RANKS", integer("thread", "globalTid"), integer("rank")
    )
    ranks = {
        ((row["thread"] >> _PID_BITS) & _PID_MASK, row["rank"])
        for row in rows
        if row["thread"] is not None and row["rank"] is not None
    }
    return [{"pid": pid, "rank": rank} for pid, rank in sorted(ranks)]


def _nccl(work: Work) -> list[dict[str, Any]]:
    text_of = sqlfile.load("convert", "nccl_member").text
    names = ("pid", "rank", "ranks", "device", "comm")
    rows = work.connection.execute(text_of).fetchall()
    return [dict(zip(names, row, strict=True)) for row in rows]
