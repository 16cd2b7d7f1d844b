"""``nsysflow doctor``: what is here, and what a run lacks."""

from __future__ import annotations

from pathlib import Path

import click

from nsysflow import errors, options


@click.command()
@click.argument("run", required=False, metavar="[RUN]", type=click.Path(path_type=Path))
@click.option("--nsys", metavar="PATH", help="The nsys that exports .nsys-rep files.")
@options.everywhere
@click.pass_context
def doctor(context: click.Context, /, run: Path | None, nsys: str | None) -> int:
    """Tell what this machine has; for RUN what each trace recorded and lacks."""
    from importlib.metadata import version

    from nsysflow import doctor as examine
    from nsysflow.find import find_inputs

    console = options.console_of(context)
    # First: of a folder that is not there nothing is to be told.
    found = None if run is None else find_inputs([run])
    for fact in examine.machine_lines(run or Path.cwd(), nsys):
        console.out(fact)
    console.out(f"duckdb: {version('duckdb')}")
    if found is None:
        console.out(examine.capture_line(nsys, "to record a run"))
        return errors.EXIT_OK
    usable = 0
    examined = list(examine.input_lines(found, nsys))
    for line in examined:
        usable += line.usable
        (console.out if line.readable else console.fail)(line.text)
    if any(line.lacks for line in examined):
        console.out(examine.capture_line(nsys, "to record all of it"))
    if usable == len(examined):
        return errors.EXIT_OK
    return errors.EXIT_PARTIAL if usable else errors.EXIT_NOTHING
