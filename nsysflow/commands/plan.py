"""From the options of a command line, and nsysflow.toml, to a plan."""

from __future__ import annotations

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from nsysflow import nsys
from nsysflow.config import load_settings
from nsysflow.console import Console
from nsysflow.executor import Pool
from nsysflow.pipeline import WHOLE, Plan
from nsysflow.settings import Settings


def plan_for(
    console: Console,
    root: Path,
    asked: dict[str, Any],
    *,
    shard: tuple[int, int] | None = None,
    before: Settings | None = None,
) -> Plan:
    """Return what to do and how; the command line goes before nsysflow.toml in ``root``.

    ``before`` are the settings of an earlier part of the same work, which hold where nothing else
    is said now.

    Raises:
        UsageError: an option or the file makes no sense.
    """
    settings, rest = load_settings(root, asked)
    if before is not None:
        usual = asdict(Settings())
        said = {name: value for name, value in vars(settings).items() if value != usual[name]}
        settings = replace(before, **said)
    pool = Pool(
        jobs=rest.get("jobs"),
        memory_bytes=rest.get("memory_limit"),
        scheduler=rest.get("scheduler"),
        scheduler_file=rest.get("scheduler_file"),
    )
    program = rest.get("nsys")
    # On a cluster the workers export, and this machine may lack what they have.
    if program is not None and not pool.clustered:
        nsys.find(program)
    return Plan(settings, pool, program, shard or WHOLE, console)
