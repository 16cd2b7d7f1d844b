"""``nsysflow convert``: traces into the store."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nsysflow import options
from nsysflow.console import Console

if TYPE_CHECKING:
    from nsysflow.outdir import OutDir
    from nsysflow.pipeline import Plan
    from nsysflow.record import Record


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@options.output
@options.shard
@options.config
@options.reading
@options.work
@options.everywhere
@click.pass_context
def convert(
    context: click.Context,
    /,
    runs: tuple[Path, ...],
    output: Path | None,
    shard: tuple[int, int] | None,
    **asked: Any,
) -> int:
    """Read the traces of RUN into the store of the output folder, which is printed."""
    from nsysflow import pipeline

    console = options.console_of(context)
    out, _, made = convert_runs(console, runs, output, asked, shard)
    console.out(str(out.path))
    return pipeline.exit_code([state.status for state in made.states if state.status != "waiting"])


def convert_runs(
    console: Console,
    runs: tuple[Path, ...],
    output: Path | None,
    asked: dict[str, Any],
    shard: tuple[int, int] | None = None,
    before: Callable[[Path], object] = lambda _folder: None,
) -> tuple[OutDir, Plan, Record]:
    """Find and convert; return where, how and what.

    ``before(folder)`` may still refuse: it is called before the output folder is made.

    Raises:
        NothingUsableError: no input could be converted.
    """
    from nsysflow import outdir, pipeline
    from nsysflow.commands.plan import plan_for
    from nsysflow.find import find_inputs

    found = find_inputs(runs)
    plan = plan_for(console, found.root, asked, shard=shard)
    folder = output or outdir.default(found.folder, found.name)
    before(folder)
    out = outdir.create(folder)
    console.start_log(out.log)
    return out, plan, pipeline.convert(found, out, plan)
