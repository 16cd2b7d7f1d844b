"""What a GPU can do at most: dense peaks by device name and number format.

``peaks.csv`` has one row per device: ``names``, a pattern that the whole name must fit once it is
lower case without vendor, ``sms`` of the whole device, dense TFLOP/s by format (no 2:4 sparsity;
fp32 outside the tensor cores, fp64 the faster of both; 16-bit with fp32 accumulation) and how
``sure`` the figures are. An empty cell is a format the device lacks, or a figure that sources
dispute. A name that fits no row has no peak: a near miss may be off by a factor.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from math import fsum

from nsysflow.resources import beside

FORMATS = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "fp4")
TERA = 1e12

_MIG = re.compile(r" mig \d+g\.\d+gb\S*$")
_VENDOR = re.compile(r"^(nvidia |tesla )+")
_BREAK = re.compile(r"[\s_-]+")


@dataclass(frozen=True)
class Device:
    """A GPU as the capture names it; ``sm_count`` is that of the MIG slice where it is one."""

    name: str | None
    sm_count: int | None = None


@dataclass(frozen=True)
class Row:
    """One device of the table; ``tflops`` by format, only those it has."""

    device: str
    names: re.Pattern[str]
    sms: int | None
    tflops: dict[str, float]
    sure: str


@dataclass(frozen=True)
class Peak:
    """The peak that MFU is measured against, in FLOP/s; ``flops`` is None where none is known.

    ``source`` says where it comes from, or why there is none. ``dense_flops`` is the table's dense
    figure whatever the user says, None if the table has none; ``row`` is the device's, if known,
    and ``sliced`` whether it is a MIG slice of it.
    """

    flops: float | None
    source: str
    given: bool = False
    dense_flops: float | None = None
    row: Row | None = None
    sliced: bool = False


@cache
def table() -> tuple[Row, ...]:
    """Return the shipped table."""
    lines = beside("nsysflow.mfu", "peaks.csv").read_text(encoding="utf-8").splitlines()
    return tuple(
        Row(
            line["device"],
            re.compile(line["names"]),
            int(line["sms"]) if line["sms"] else None,
            {name: float(line[name]) for name in FORMATS if line[name]},
            line["sure"],
        )
        for line in csv.DictReader(lines)
    )


def find_row(name: str | None) -> tuple[Row | None, bool]:
    """Return the row of a device name, if the table has one, and whether it is a MIG slice."""
    plain = _VENDOR.sub("", _BREAK.sub(" ", (name or "").strip().lower()))
    whole = _MIG.sub("", plain)
    found = next((row for row in table() if row.names.fullmatch(whole)), None)
    return found, whole != plain


def find_peak(devices: Sequence[Device], dtype: str | None, given_tflops: float | None) -> Peak:
    """Return the peak per GPU: the user's, else the table's; the mean where devices differ.

    ``devices`` holds one entry per lane. Never falls back to the peak of another device.
    """
    dense = [_dense(device, dtype) for device in devices]
    known = [peak.flops for peak in dense if peak.flops is not None]
    rows = {peak.row.device: peak for peak in dense if peak.row is not None}
    one = next(iter(rows.values())) if len(rows) == 1 else Peak(None, "")
    mean = fsum(known) / len(known) if known and len(known) == len(dense) else None
    if given_tflops:
        flops = float(given_tflops) * TERA
        return Peak(flops, "[gpu] peak_tflops", True, mean, one.row, one.sliced)
    if mean is None:
        lacking = next((peak.source for peak in dense if peak.flops is None), "no GPU is known")
        return Peak(None, lacking, row=one.row, sliced=one.sliced)
    sources = sorted({peak.source for peak in dense})
    source = sources[0] if len(sources) == 1 else f"mean over the GPUs of {'; '.join(sources)}"
    return Peak(mean, source, False, mean, one.row, one.sliced)


def _dense(device: Device, dtype: str | None) -> Peak:
    if device.name is None:
        return Peak(None, "the capture does not say which GPU this is")
    row, sliced = find_row(device.name)
    if row is None:
        return Peak(None, f"no peak is known for the GPU {device.name!r}", sliced=sliced)
    why: str | None = None
    part = 1.0
    if dtype is None:
        why = "dtype is not given"
    elif dtype not in row.tflops:
        why = f"no dense {dtype} peak is known for the {row.device}"
    elif sliced:
        part = _part(device, row)
        why = None if part else f"{device.name!r} is a slice of unknown size of the {row.device}"
    if why is not None or dtype is None:
        return Peak(None, why or "", row=row, sliced=sliced)
    flops = round(row.tflops[dtype] * TERA * part, 3)
    source = f"table: {row.device}"
    source += f", {device.sm_count} of {row.sms} SMs" if sliced else ""
    return Peak(flops, source, row=row, sliced=sliced)


def _part(device: Device, row: Row) -> float:
    """Return the share of the device that a MIG slice is, 0 if it cannot be told."""
    if not device.sm_count or not row.sms or device.sm_count >= row.sms:
        return 0.0
    return device.sm_count / row.sms
