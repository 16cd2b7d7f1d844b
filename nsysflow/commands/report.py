"""``nsysflow report``: the main job."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from nsysflow import options


@click.command()
@click.argument("runs", nargs=-1, required=True, metavar="RUN...", type=click.Path(path_type=Path))
@options.output
@click.option(
    "--model",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="The model, for MFU, instead of [model] in nsysflow.toml.",
)
@click.option(
    "--timeline-steps",
    metavar="LIST",
    help="Steps to draw besides the usual ones, such as 3,5-8.",
)
@click.option(
    "--markdown", metavar="FILE|-", help="Also write the summary as Markdown; - is stdout."
)
@click.option("--open", "open_page", is_flag=True, help="Show the index in the browser.")
@options.config
@options.reading
@options.work
@options.everywhere
@click.pass_context
def report(
    context: click.Context,
    /,
    runs: tuple[Path, ...],
    output: Path | None,
    markdown: str | None,
    open_page: bool,
    **asked: Any,
) -> int:
    """Find the traces of RUN (a folder or files), convert, analyse and render them."""
    from nsysflow import errors, outdir, pipeline, summary, target
    from nsysflow.commands.convert import convert_runs

    console = options.console_of(context)
    file = Path(markdown) if markdown not in (None, "-") else None

    def is_summary(_name: str, text: str) -> bool:
        return summary.is_markdown(text)

    def settle(folder: Path) -> None:
        if file is not None:
            target.settle(file, "--markdown", output=folder, ours=is_summary)

    out, plan, made = convert_runs(console, runs, output, asked, before=settle)
    result = pipeline.analyse(out, plan, made)
    index, lost = pipeline.draw(out, plan)
    if markdown == "-":
        console.out(summary.markdown(result))
    else:
        console.out(summary.terminal(result, console.bold))
        console.out(f"\n{index}")
    if file is not None:
        outdir.write_text(Path(os.path.realpath(file)), summary.markdown(result) + "\n")
    if open_page:
        import webbrowser

        webbrowser.open(index.as_uri())
    code = pipeline.exit_code(row["status"] for row in result["run"]["inputs"])
    return errors.EXIT_PARTIAL if lost else code
