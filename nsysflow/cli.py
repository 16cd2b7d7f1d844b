"""The command line: parse, call, turn every ending into its exit code."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from nsysflow import front

if TYPE_CHECKING:
    import click

    from nsysflow.console import Console


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run one command line and end the process with its exit code."""
    _open_what_is_closed()
    given = list(sys.argv[1:] if arguments is None else arguments)
    # The two that are asked most often must not wait for the rest to be imported.
    quick = {"--help": lambda: front.HELP, "-h": lambda: front.HELP, "--version": front.versions}
    if len(given) == 1 and given[0] in quick and _printed(quick[given[0]]()):
        sys.exit(0)
    from nsysflow.console import Console  # noqa: PLC0415

    _interrupt_on_signals()
    sys.exit(run(given, Console()))


def _open_what_is_closed() -> None:
    # A stream closed by the caller (``>&-``) is None, and its number would go to the next file that
    # is opened: whatever a library then prints would be written into that file.
    import os  # noqa: PLC0415

    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r"))  # noqa: SIM115, PTH123


def _interrupt_on_signals() -> None:
    import signal  # noqa: PLC0415

    from nsysflow import interrupt  # noqa: PLC0415

    # What a job scheduler sends when the time is over ends as tidily as Ctrl-C does.
    numbers = [signal.SIGTERM]
    # A shell starts what runs in the background deaf to Ctrl-C.
    if signal.getsignal(signal.SIGINT) == signal.default_int_handler:
        numbers.append(signal.SIGINT)
    interrupt.raise_on(KeyboardInterrupt, *numbers)


def run(arguments: list[str], console: Console) -> int:
    """Run one command line; return the exit code. Every failure is one line on stderr."""
    import click  # noqa: PLC0415

    from nsysflow import errors  # noqa: PLC0415
    from nsysflow.commands import group  # noqa: PLC0415

    try:
        # Not group.main(): that prints an empty line of its own on an interrupt.
        with group.make_context("nsysflow", arguments, obj=console) as context:
            code = _invoked(group, context)
    except click.exceptions.Exit as ended:
        return ended.exit_code
    except click.ClickException as error:
        return _usage(error, console)
    except errors.NsysflowError as error:
        console.traceback(_trace())
        console.fail(f"nsysflow: {error}")
        return error.exit_code
    except (KeyboardInterrupt, click.Abort):
        console.fail("nsysflow: interrupted; what was done stays, the same command goes on there")
        return errors.EXIT_INTERRUPTED
    except Exception as error:  # noqa: BLE001 - the last door: no traceback unless asked for
        console.traceback(_trace())
        known = errors.disk_error(error)
        fault = f"nsysflow fault: {type(error).__name__}: {error}; rerun with --debug"
        console.fail(f"nsysflow: {known}" if known else fault)
        return known.exit_code if known else errors.EXIT_FAULT
    return code if isinstance(code, int) else errors.EXIT_OK


def _invoked(group: click.Group, context: click.Context) -> Any:  # noqa: ANN401 - as click says
    from nsysflow import interrupt  # noqa: PLC0415

    try:
        return group.invoke(context)
    except Exception:
        interrupt.again()
        raise


def _usage(error: click.ClickException, console: Console) -> int:
    from nsysflow.errors import EXIT_USAGE  # noqa: PLC0415

    context = getattr(error, "ctx", None)
    command = context.command_path if context else "nsysflow"
    # Where nothing was given at all click's message is the whole help: no line to read.
    bare = type(error).__name__ == "NoArgsIsHelpError"
    message = "no COMMAND was given" if bare else error.format_message().rstrip(".")
    # click's guess at what was meant is a question of its own.
    next_one = "? See" if message.endswith("?") else "; see"
    console.fail(f"{command}: {message.removesuffix('?')}{next_one} {command} --help")
    return EXIT_USAGE


def _trace() -> str:
    from traceback import format_exc  # noqa: PLC0415

    return format_exc()


def _printed(text: str) -> bool:
    """Print and return True; where that fails the usual way prints it again, and can say why."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        return False
    return True
