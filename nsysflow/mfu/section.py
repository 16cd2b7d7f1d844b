"""The section ``mfu`` of a result document."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from nsysflow.mfu import measured
from nsysflow.mfu.checks import checks
from nsysflow.mfu.estimate import Estimate, estimate
from nsysflow.mfu.flops import Model
from nsysflow.mfu.measured import Document, Measured
from nsysflow.mfu.waterfall import waterfall

Section = dict[str, Any]

NO_MODEL = (
    "nsysflow.toml has no [model]: give params, tokens_per_step, world_size, dtype and attention"
)
# Beyond, the shares of a profiled step are not those of the step whose time is used.
PERTURBED = 0.05
_EMPTY: Section = {
    "mfu": None,
    "hfu": None,
    "hfu_korthikanti": None,
    "convention": None,
    "params": None,
    "flops_per_token": None,
    "attention_flops_per_token": None,
    "readings": [],
    "tokens_per_s_per_gpu": None,
    "samples_per_s_per_gpu": None,
    "step_ns": None,
    "step_source": None,
    "peak_flops": None,
    "peak_source": None,
    "dtype": None,
    "checks": [],
    "waterfall": [],
}


def lane_section(
    document: Document,
    model: Model | None,
    gpu: Mapping[str, Any],
    world: int | None,
    captured: int | None,
) -> Section:
    """Return the section of a rank document whose measured sections stand.

    ``model`` and ``gpu`` are the tables of the settings, ``world`` the number of ranks that the
    capture tells of, ``captured`` how many lanes of its job there are, if that is known.
    """
    return section(model, gpu, measured.of_lane(document, world, captured))


def job_section(
    documents: Sequence[Document],
    model: Model | None,
    gpu: Mapping[str, Any],
    world: int | None,
    several: str | None,
) -> Section:
    """Return the section of the job; ``several`` says why the lanes are not one job."""
    if several:
        reason = f"several jobs in one folder: {several}"
        return {"status": "withheld", "reason": reason} | _EMPTY
    return section(model, gpu, measured.of_job(documents, world))


def section(model: Model | None, gpu: Mapping[str, Any], found: Measured) -> Section:
    """Return MFU with all that went into it, or why there is none; pure."""
    if model is None:
        return {"status": "not_applicable", "reason": NO_MODEL} | _EMPTY
    made = estimate(model, gpu, found)
    checked = checks(made)
    reason = made.lacks
    if made.mfu is not None and made.mfu > 1:
        reason = checked[0]["text"]
    if reason:
        status = {"status": "withheld" if made.sized else "not_applicable", "reason": reason}
        return status | _EMPTY | _inputs(made) | {"checks": checked}
    return {"status": "ok"} | _inputs(made) | _shares(made) | {"checks": checked}


def _inputs(made: Estimate) -> Section:
    """Return what is known even where MFU is not."""
    flops = made.flops
    return {
        "convention": flops.convention,
        "params": flops.params,
        "flops_per_token": _finite(flops.model),
        "attention_flops_per_token": _finite(flops.attention),
        "tokens_per_s_per_gpu": _rounded(made.tokens_per_s, 3),
        "samples_per_s_per_gpu": _rounded(made.samples_per_s, 6),
        "step_ns": _step_ns(made),
        "step_source": None if made.seconds is None else "given" if made.time_given else "steps",
        "peak_flops": _finite(made.peak.flops),
        "peak_source": made.peak.source if made.peak.flops is not None else None,
        "dtype": made.model.get("dtype"),
    }


def _shares(made: Estimate) -> Section:
    flops = made.flops
    selective = made.model.get("recompute") == "selective"
    return {
        "mfu": _rounded(made.mfu, 6),
        "hfu": _rounded(made.hfu, 6),
        "hfu_korthikanti": _rounded(made.share(flops.korthikanti), 6) if selective else None,
        "readings": [
            {"attention": name, "flops_per_token": value, "mfu": _rounded(made.share(value), 6)}
            for name, value in flops.readings.items()
            if value is not None
        ],
        "waterfall": _waterfall(made),
    }


def _waterfall(made: Estimate) -> list[dict[str, Any]]:
    if made.mfu is None or made.hfu is None or not made.profiled_s or not made.seconds:
        return []
    if abs(made.profiled_s / made.seconds - 1) > PERTURBED:
        return []
    return waterfall(made.mfu, made.hfu, made.measured)


def _step_ns(made: Estimate) -> int | None:
    if made.seconds is None:
        return None
    return made.measured.period_ns if not made.time_given else round(made.seconds * 1e9)


def _rounded(value: float | None, digits: int) -> float | None:
    return None if value is None else round(value, digits)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
