"""Checks of the peak, the device and the number format against each other."""

from __future__ import annotations

import re
from functools import lru_cache

from nsysflow.mfu.estimate import Estimate
from nsysflow.mfu.measured import TENSOR_CLASSES
from nsysflow.mfu.peaks import TERA
from nsysflow.mfu.verdict import OK, SUSPICIOUS, UNKNOWN, Finding, Findings

# How far two figures of one peak may differ.
SAME_PEAK = 0.02
MIXED = 0.10
MOSTLY = 0.50
_FEW = 4

# What the names of matrix kernels say about their format; the first that fits.
_NAMES = {
    "fp8": re.compile(r"e4m3|e5m2|fp8|float8|nvjet_(sm\d+_)?q"),
    "32 bit": re.compile(r"sgemm|tf32|fp32"),
    "16 bit": re.compile(r"bf16|bfloat16|f16|half|nvjet_(sm\d+_)?[ht]"),
}
_SAID = {"fp8": "fp8", "bf16": "16 bit", "fp16": "16 bit", "tf32": "32 bit", "fp32": "32 bit"}


def peak(found: Estimate) -> Findings:
    """Is the peak dense, and of the dtype that the model says?"""
    known, dtype = found.peak, found.model.get("dtype")
    if known.flops is None:
        if dtype:
            yield UNKNOWN, known.source
        return
    shown = f"{known.flops / TERA:,.5g} TFLOP/s"
    if known.given and known.dense_flops is not None:
        yield _given(known.flops, known.dense_flops, str(dtype))
    elif known.given:
        yield UNKNOWN, f"peak_tflops is taken as given ({shown}): the table has none to compare"
    elif known.row is not None and known.row.sure == "low":
        yield UNKNOWN, f"peak {shown} ({known.source}) is disputed: give peak_tflops"
    else:
        yield OK, f"peak is the dense {dtype} figure of this GPU ({shown}; {known.source})"


def _given(flops: float, dense: float, dtype: str) -> Finding:
    ratio = flops / dense
    both = f"peak_tflops is {flops / TERA:,.5g}, the dense {dtype} peak {dense / TERA:,.5g}"
    if abs(ratio - 1) <= SAME_PEAK:
        return OK, f"{both}: the same"
    if abs(ratio / 2 - 1) <= SAME_PEAK:
        return SUSPICIOUS, f"{both}: twice as much is the sparse figure, or another dtype’s"
    return SUSPICIOUS, f"{both}: {ratio:.3g} times as much"


def device(found: Estimate) -> Findings:
    """Is the GPU known, and does it look like the one of its name?"""
    devices = found.measured.devices
    names = sorted({each.name for each in devices if each.name})
    row = found.peak.row
    if not names:
        yield UNKNOWN, "the capture does not say which GPU this is"
    elif len(names) > 1:
        more = f" and {len(names) - _FEW} more" if len(names) > _FEW else ""
        yield SUSPICIOUS, f"the GPUs differ: {', '.join(names[:_FEW])}{more}"
    elif row is None:
        yield UNKNOWN, f"the GPU {names[0]!r} is not in the table of peaks"
    else:
        counts = sorted({each.sm_count for each in devices if each.sm_count})
        other = [sms for sms in counts if row.sms and sms != row.sms]
        if other and not found.peak.sliced:
            text = f"{names[0]} reports {other[0]} SMs, the {row.device} of the table has {row.sms}"
            yield SUSPICIOUS, text
        else:
            yield OK, f"{names[0]} is the {row.device} of the table"


def dtype(found: Estimate) -> Findings:
    """Do the names of the matrix kernels speak against the dtype?"""
    stated = found.model.get("dtype")
    work = dict.fromkeys((*_NAMES, "other"), 0)
    for row in found.measured.kernels:
        if row["class"] in TENSOR_CLASSES:
            work[_said(str(row["name"]).lower())] += row["work_ns"]
    total = sum(work.values())
    expected = _SAID.get(stated or "")
    if expected is None or total == 0:
        return
    if expected == "16 bit" and work["fp8"] > MIXED * total:
        part = f"{100 * work['fp8'] / total:.0f} %"
        yield SUSPICIOUS, f"dtype is {stated}, but {part} of the matrix work has fp8 in its name"
        return
    most = max(work, key=lambda name: work[name])
    if most == "other" or work[most] <= MOSTLY * total:
        yield UNKNOWN, f"the names of the matrix kernels do not tell if they compute in {stated}"
    elif most == expected:
        yield OK, f"the names of the matrix kernels agree with {stated}"
    else:
        yield SUSPICIOUS, f"dtype is {stated}, but the names of most matrix kernels say {most}"


@lru_cache(maxsize=4096)
def _said(name: str) -> str:
    return next((said for said, pattern in _NAMES.items() if pattern.search(name)), "other")


def world_size(found: Estimate) -> Findings:
    """Is the number of GPUs that share the tokens the number of ranks?"""
    world, measured = found.world, found.measured
    if world is None:
        yield UNKNOWN, "world_size is not given"
        return
    highest = max(measured.ranks, default=-1)
    captured = measured.captured
    if measured.world is not None and measured.world > world:
        yield SUSPICIOUS, f"world_size is {world}, but the captures tell of {measured.world} ranks"
    elif highest >= world:
        yield SUSPICIOUS, f"world_size is {world}, but there is a rank {highest}"
    elif captured is not None and captured > world:
        yield SUSPICIOUS, f"world_size is {world}, but {captured} GPUs were captured"
    elif world in (measured.world, captured):
        yield OK, f"world_size is {world}, as the captures tell"
    else:
        # Fewer may be the nodes or tasks that a launcher counts.
        told = f"{measured.world} ranks" if measured.world else "nothing"
        yield UNKNOWN, f"world_size is {world}; of that the captures tell {told}"
