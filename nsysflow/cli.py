"""The command line: parse, call, turn every ending into its exit code."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Sequence
from typing import NoReturn

import click

from nsysflow import errors
from nsysflow.commands import ALL
from nsysflow.console import Console
from nsysflow.options import everywhere, print_version


@click.group(
    help="Where did the step go? Reports over multi-rank Nsight Systems captures.",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=print_version,
    help="Print the versions of the tool, the store, the schema and DuckDB.",
)
@everywhere
def cli() -> None:
    """Hold the commands; each is a module of ``nsysflow.commands``."""


for _command in ALL:
    cli.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command line and end the process with its exit code."""
    console = Console()
    code = run(list(sys.argv[1:] if arguments is None else arguments), console)
    sys.exit(code)


def run(arguments: list[str], console: Console) -> int:
    """Run one command line; return the exit code. Every failure is one line on stderr."""
    try:
        code = cli.main(arguments, prog_name="nsysflow", standalone_mode=False, obj=console)
    except click.ClickException as error:
        return _usage(error, console)
    except errors.NsysflowError as error:
        return _expected(error, console)
    except (KeyboardInterrupt, click.Abort):
        console.fail(
            "nsysflow: interrupted; what was done stays, the same command goes on from there"
        )
        return errors.EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last door: no traceback for a user who did not ask
        return _fault(error, console)
    return code if isinstance(code, int) else errors.EXIT_OK


def _usage(error: click.ClickException, console: Console) -> int:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "nsysflow"
    console.fail(f"{command}: {error.format_message()}; see {command} --help")
    return errors.EXIT_USAGE


def _expected(error: errors.NsysflowError, console: Console) -> int:
    console.traceback(traceback.format_exc())
    console.fail(f"nsysflow: {error}")
    return error.exit_code


def _fault(error: Exception, console: Console) -> int:
    console.traceback(traceback.format_exc())
    console.fail(f"nsysflow fault: {type(error).__name__}: {error}; rerun with --debug")
    return errors.EXIT_FAULT
