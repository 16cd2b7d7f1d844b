"""What is here to work with, and what each trace recorded and lacks."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from nsysflow import machine, nsys, recording
from nsysflow.errors import NsysflowError
from nsysflow.find import Found, Input
from nsysflow.read import RawTrace, open_raw


@dataclass(frozen=True)
class Kind:
    """Something a capture may hold: its tables, what it is needed for, how to record it."""

    name: str
    tables: tuple[str, ...]
    needed_for: str
    record: str
    on_gpu: bool = False


@dataclass(frozen=True)
class Line:
    """What is said of one input: ``usable`` if a lane can come of it."""

    text: str
    readable: bool
    usable: bool = False
    lacks: bool = False


KINDS = (
    Kind(
        "GPU kernels",
        ("CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"),
        "everything",
        "--trace=cuda",
        on_gpu=True,
    ),
    Kind("CUDA graphs as a whole", ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",), "", "", on_gpu=True),
    Kind(
        "GPU copies", ("CUPTI_ACTIVITY_KIND_MEMCPY",), "exposed copies", "--trace=cuda", on_gpu=True
    ),
    Kind(
        "CUDA calls",
        ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"),
        "who launched what, and why the GPU waited",
        "--trace=cuda",
    ),
    Kind(
        "CUDA synchronisations",
        ("CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",),
        "which call made the host wait",
        "--trace=cuda",
    ),
    Kind("NVTX ranges", ("NVTX_EVENTS",), "steps, phases, operators", "--trace=nvtx"),
    Kind("OS calls", ("OSRT_API",), "waits on locks, files, other threads", "--trace=osrt"),
    Kind("GPU facts", ("TARGET_INFO_GPU",), "which GPU a lane ran on", "a current nsys"),
    Kind("GPU metrics", ("GPU_METRICS",), "", ""),
    Kind("CPU scheduling", ("SCHED_EVENTS",), "", ""),
)


def machine_lines(folder: Path, nsys_path: str | None) -> Iterator[str]:
    """Yield what this machine has."""
    found = nsys.find(nsys_path)
    if found is None:
        yield "nsys: not found; only .nsys-rep files need it (--nsys PATH, NSYSFLOW_NSYS, PATH)"
    else:
        yield f"nsys: {nsys.version(found) or 'version unknown'} at {found}"
    memory, disk = machine.memory_bytes(), machine.free_disk_bytes(folder)
    yield f"machine: {machine.cores()} cores, {memory / 1e9:.1f} GB of memory"
    yield f"disk: {disk / 1e9:.1f} GB free at {folder}"


def capture_line(nsys_path: str | None, purpose: str) -> str:
    """Return the line to record with, for the nsys that is here."""
    found = nsys.find(nsys_path)
    known = nsys.version(found) if found else None
    since = ".".join(map(str, recording.NCCL_SINCE))
    but = "" if known else f" (leave out nccl before nsys {since})"
    return f"{purpose}{but}: {recording.line(known)}"


def input_lines(found: Found, nsys_path: str | None) -> Iterator[Line]:
    """Yield what is to be said of each input."""
    for failure in found.failures:
        yield Line(f"{failure.file}: {failure.message}; {failure.hint}", readable=False)
    for each in found.inputs:
        try:
            with (
                tempfile.TemporaryDirectory() as work,
                open_raw(each, Path(work), nsys_path) as raw,
            ):
                yield _line(each, raw)
        except NsysflowError as error:
            text = str(error)
            yield Line(text if each.file in text else f"{each.file}: {text}", readable=False)


def _line(each: Input, raw: RawTrace) -> Line:
    has = [kind for kind in KINDS if any(map(raw.filled, kind.tables))]
    lacks = [kind for kind in KINDS if kind.needed_for and kind not in has]
    text = f"{each.file}: has {', '.join(kind.name for kind in has) or 'nothing that is analysed'}"
    if lacks:
        reasons = [f"{kind.name} ({kind.needed_for}; {kind.record})" for kind in lacks]
        text += f"; lacks {', '.join(reasons)}"
    usable = any(kind.on_gpu for kind in has)
    return Line(text, readable=True, usable=usable, lacks=bool(lacks))
