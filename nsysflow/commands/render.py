"""``nsysflow render``: result documents into pages."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nsysflow import options


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@options.work
@options.everywhere
@click.pass_context
def render(context: click.Context, /, folder: Path, **asked: Any) -> int:
    """Make index.html and a page per lane from the documents in DIR; needs no trace, no store."""
    from nsysflow import errors, outdir, pipeline
    from nsysflow.commands.plan import plan_for

    console = options.console_of(context)
    out = outdir.existing(folder, "analyse DIR", written=["."])
    console.start_log(out.log)
    index, lost = pipeline.draw(out, plan_for(console, out.path, asked))
    console.out(str(index))
    return errors.EXIT_PARTIAL if lost else errors.EXIT_OK
