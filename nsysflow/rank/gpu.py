"""Which physical GPU a lane ran on. The ordinal a process uses is not an identity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.rank.lane import Seat

_SHOWN = ("name", "uuid", "bus", "sm_count", "memory_bytes", "bandwidth_bytes_per_s")
_FOREIGN = ("intel", "microsoft", "amd", "radeon", "llvmpipe", "matrox", "aspeed")


def gpu_of(seat: Seat) -> tuple[dict[str, Any] | None, str | None]:
    """Return (GPU, how it is known), (None, None) where it cannot be told.

    The table of CUDA devices by process and ordinal; else the only NVIDIA GPU; else the one whose
    cuDevice is the ordinal. Adapters of other makers are listed by nsys too and never meant.
    """
    gpus = _distinct([row for row in seat.capture.get("gpus") or [] if _is_nvidia(row)])
    entry = _by_table(seat, gpus)
    if entry is not None:
        return _shown(entry), "cuda_device"
    if len(gpus) == 1:
        return _shown(gpus[0]), "only_gpu"
    named = [row for row in gpus if row.get("cuda_device") == seat.device]
    if len(named) == 1:
        return _shown(named[0]), "cu_device"
    return None, None


def identity(host: str | None, trace: str, gpu: Mapping[str, Any] | None) -> tuple[str, str] | None:
    """Return what two lanes on one GPU have in common: host and UUID, else host and PCI bus."""
    if gpu is None:
        return None
    uuid = _plain_uuid(gpu.get("uuid"))
    if uuid:
        return host or "", uuid
    bus = str(gpu.get("bus") or "").strip().lower()
    # Without a host, the same bus in two files may be two machines.
    return (host or f"file {trace}", f"bus {bus}") if bus else None


def _by_table(seat: Seat, gpus: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    rows = [
        row
        for row in seat.capture.get("cuda_devices") or []
        if row.get("pid") == seat.pid and row.get("cuda_id") == seat.device
    ]
    found = {
        (row.get("gpu_id"), _plain_uuid(row.get("uuid"))): _resolved(row, gpus) for row in rows
    }
    known = _distinct([gpu for gpu in found.values() if gpu is not None])
    return known[0] if len(known) == 1 else None


def _resolved(row: Mapping[str, Any], gpus: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    uuid = _plain_uuid(row.get("uuid"))
    for gpu in gpus:
        if uuid and _plain_uuid(gpu.get("uuid")) == uuid:
            return gpu
    for gpu in gpus:
        if row.get("gpu_id") is not None and gpu.get("id") == row.get("gpu_id"):
            return gpu
    # The list of GPUs may be missing while the devices of the process are there.
    return {"uuid": row.get("uuid"), "sm_count": row.get("sm_count")} if uuid else None


def _distinct(gpus: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    kept: dict[str, dict[str, Any]] = {}
    for row in gpus:
        key = _plain_uuid(row.get("uuid")) or str(row.get("bus") or "") or f"id {row.get('id')}"
        kept.setdefault(key, row)
    return list(kept.values())


def _is_nvidia(row: Mapping[str, Any]) -> bool:
    name = str(row.get("name") or "").lower()
    return bool(row.get("nvidia", True)) and not any(maker in name for maker in _FOREIGN)


def _plain_uuid(uuid: object) -> str:
    text = str(uuid or "").strip().lower().removeprefix("gpu-")
    return text if text.strip("0-") else ""


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {key: row.get(key) for key in _SHOWN}
    return shown | {"uuid": row.get("uuid") if _plain_uuid(row.get("uuid")) else None}
