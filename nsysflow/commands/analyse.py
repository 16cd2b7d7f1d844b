"""``nsysflow analyse``: the store into result documents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nsysflow import options


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@options.shard
@options.config
@options.reading
@options.work
@options.everywhere
@click.pass_context
def analyse(
    context: click.Context,
    /,
    folder: Path,
    shard: tuple[int, int] | None,
    **asked: Any,
) -> int:
    """Analyse what convert left in DIR.

    With --shard only this part's rank documents are written; a last `analyse DIR` without it takes
    them as they are and writes result.json.
    """
    from nsysflow import outdir, pipeline, record
    from nsysflow.commands.plan import plan_for

    console = options.console_of(context)
    out = outdir.existing(folder, "convert RUN", written=[".", "store"])
    console.start_log(out.log)
    made = record.read(out.store)
    plan = plan_for(console, out.store, asked, shard=shard, before=made.settings)
    pipeline.tell_failures(made, console)
    if plan.shard == pipeline.WHOLE:
        inputs = pipeline.analyse(out, plan, made)["run"]["inputs"]
        statuses = [row["status"] for row in inputs]
    else:
        statuses = pipeline.analyse_shard(out, plan, made)
    console.out(str(out.path))
    return pipeline.exit_code(statuses)
