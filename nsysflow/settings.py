"""What a run was asked to do, and what it may use while doing it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Settings:
    """Everything that may change a result; part of the key under which work is reused.

    ``window_from_s`` and ``window_to_s`` are seconds on the capture's own clock.
    ``kernel_rules`` are (RE2 pattern, class) pairs that go before the shipped ones; the class may
    be ``comm``. ``cause_patterns`` are (cause, RE2 pattern) pairs for checkpoint, eval, logging and
    loader ranges. ``rank_map`` maps a file (relative to the run, ``/``), or ``file#pid`` or
    ``file#pid#device``, to a rank.
    ``timeline_steps`` are step numbers shown besides the usual ones.
    """

    step_range: str | None = None
    window_from_s: float | None = None
    window_to_s: float | None = None
    rank_map: tuple[tuple[str, int], ...] = ()
    rank_regex: str | None = None
    kernel_rules: tuple[tuple[str, str], ...] = ()
    cause_patterns: tuple[tuple[str, str], ...] = ()
    redact: bool = True
    model: dict[str, Any] | None = None
    gpu: dict[str, Any] = field(default_factory=dict)
    job: dict[str, Any] = field(default_factory=dict)
    timeline_steps: tuple[int, ...] = ()


@dataclass(frozen=True)
class Limits:
    """What one task may use. Never changes a result.

    ``memory_bytes`` bounds DuckDB's buffers in this task; ``temp_dir`` takes what spills.
    """

    threads: int = 1
    memory_bytes: int = 1_000_000_000
    temp_dir: Path | None = None
