"""Synthetic multi-rank runs in the real export schema, with their true answers beside them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nsysflow.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from nsysflow.demo.plan import Plan


def make_run(
    folder: Path, plan: Plan, progress: Callable[[int], None] = lambda _step: None
) -> dict[str, Any]:
    """Write a run into ``folder`` and return its truth (the content of ``truth.json``).

    Args:
        folder: where ``rank0.sqlite`` …, ``nsysflow.toml`` and ``truth.json`` go; made if absent.
        plan: what the run is to hold.
        progress: called with the index of each finished step.

    Raises:
        UsageError: the plan cannot be met, or the folder already holds something.
    """
    from nsysflow.demo.job import Job  # noqa: PLC0415 - numpy and sqlite3 only when needed

    problems = plan.problems()
    if problems:
        raise UsageError("; ".join(problems), hint="see nsysflow demo --help")
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not an empty folder", hint="name a new one")
    folder.mkdir(parents=True, exist_ok=True)
    return Job(plan, folder).run(progress)
