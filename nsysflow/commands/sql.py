"""``nsysflow sql``: questions to the store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from nsysflow import options
from nsysflow.console import Console, write
from nsysflow.errors import UsageError

if TYPE_CHECKING:
    import pyarrow as pa


@click.command()
@click.argument("run", metavar="RUN", type=click.Path(path_type=Path))
@click.argument("query", required=False)
@click.option(
    "-f",
    "--file",
    "file",
    metavar="FILE",
    help="Read the query from FILE.",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "csv", "json", "parquet"]),
    help="How rows are written. [default: as the name of the -o FILE ends, else table]",
)
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the rows to FILE instead of stdout (-).",
)
@options.everywhere
@click.pass_context
def sql(
    context: click.Context,
    /,
    run: Path,
    query: str | None,
    file: Path | None,
    form: str | None,
    output: Path | None,
) -> int:
    """Run one SELECT, DESCRIBE or EXPLAIN over the tables of RUN (a run or an output folder).

    Each table unites all traces; its column `trace` says which. Without a QUERY the tables and
    their columns are listed. Nothing outside the store can be read, nothing can be written. Traces
    that could not be converted are named; the exit code is then 3.
    """
    import tempfile

    from nsysflow import pipeline, record, rows, target
    from nsysflow import query as asking
    from nsysflow.executor import Pool

    if query is not None and file is not None:
        raise UsageError("a query and -f FILE were both given", hint="give one of them")
    if str(output) == "-":
        output = None
    form = form or rows.form_of(output.name if output else "")
    if form == "parquet" and output is None:
        raise UsageError("--format parquet is no text", hint="say where it goes with -o FILE")
    if output is not None:
        output = target.settle(output, "-o", ours=rows.is_rows)
    console = options.console_of(context)
    store, told = _store(console, run)
    # Asked before the query: rows of a store that says nothing of its traces are no answer.
    made = record.read(store)
    text = _query(file) if file is not None else query
    with tempfile.TemporaryDirectory() as scratch:
        connection = asking.connect(store, Pool().limits(1, Path(scratch)))
        found = asking.catalogue(store) if text is None else asking.run(connection, text)
        _write(found, form, output)
    if not told:
        pipeline.tell_failures(made, console)
    return pipeline.exit_code(state.status for state in made.states)


def _query(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise UsageError(f"the query {file} cannot be read: {reason}") from error


def _store(console: Console, run: Path) -> tuple[Path, bool]:
    """Return the store of an output folder, or of a run, which is converted if it has none.

    Converting says what failed; the second value is whether it did.
    """
    from nsysflow import outdir
    from nsysflow.commands.convert import convert_runs
    from nsysflow.find import find_inputs

    if not (run / outdir.MARKER).is_file():
        found = find_inputs([run])
        folder = outdir.default(found.folder, found.name)
        if not (folder / outdir.MARKER).is_file():
            console.note(f"{run} is not converted yet: converting it into {folder}")
            return convert_runs(console, (run,), None, {})[0].store, True
        run = folder
    return outdir.existing(run, "convert RUN").store, False


def _write(found: pa.RecordBatchReader, form: str, output: Path | None) -> None:
    from nsysflow import outdir, rows

    if output is None:
        rows.write_text(found, form, write)
    elif form == "parquet":
        outdir.write_whole(output, lambda made: rows.write_parquet(found, made))
    else:
        outdir.write_whole(output, lambda made: rows.write_file(found, form, made))
