"""The command line that records what the analysis asks for, as every page and command gives it."""

from __future__ import annotations

import re
from collections.abc import Mapping

_TRACES = ("cuda", "nvtx", "osrt", "nccl")
# Ranges of the framework tell phases, nodes show what runs in a graph, and a range of a few steps
# keeps the report short enough to open; sampling is left out for what it costs the host.
_OPTIONS = {
    "--pytorch": "autograd-nvtx",
    "--sample": "none",
    "--cpuctxsw": "none",
    "--cuda-event-trace": "false",
    "--cuda-graph-trace": "node",
    "--cuda-memory-usage": "true",
    "--capture-range": "cudaProfilerApi",
    "--capture-range-end": "stop",
    "--output": "run/rank%q{RANK}",
}
_PROGRAM = "python train.py"
# An nsys from before refuses the whole line.
NCCL_SINCE = (2025, 6)
_PYTORCH_SINCE = (2025, 1)


def line(version: str | None, more: Mapping[str, str] | None = None) -> str:
    """Return the line for an nsys of ``version``, None if that is not known, ready to be run.

    ``more`` are options to add or to replace, with their values.
    """
    options = _OPTIONS | dict(more or {})
    if not _has(version, _PYTORCH_SINCE):
        del options["--pytorch"]
    traces = [name for name in _TRACES if name != "nccl" or _has(version, NCCL_SINCE)]
    given = [f"{name}={value}" for name, value in options.items()]
    return " ".join(["nsys profile", f"--trace={','.join(traces)}", *given, _PROGRAM])


def _has(version: str | None, since: tuple[int, int]) -> bool:
    """Whether that nsys has what came with ``since``; of an unknown one it is hoped."""
    found = re.match(r"(\d{4})\.(\d+)", version or "")
    return found is None or (int(found[1]), int(found[2])) >= since
