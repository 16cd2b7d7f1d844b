"""Command-line options that several commands share, under one name and one meaning each."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from nsysflow.console import Console

Command = TypeVar("Command", bound=Callable[..., Any])

_UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
_SIZE = re.compile(r"(?i)\s*(\d+(?:\.\d+)?)\s*([kmgt]?i?)b?\s*")


def size_bytes(text: str) -> int:
    """Return the bytes that ``8GB``, ``512MiB`` or ``4g`` stand for; ValueError otherwise."""
    match = _SIZE.fullmatch(text)
    if match is None or match[2].lower() not in _UNITS:
        raise ValueError(text)
    return int(float(match[1]) * _UNITS[match[2].lower()])


def _shard(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[int, int] | None:
    """Return (I, N) with 1 <= I <= N; ``0/N`` is the last, for arrays that count from 0."""
    if value is None:
        return None
    match = re.fullmatch(r"(\d{1,6})/(\d{1,6})", value)
    if match is None or int(match[1]) > int(match[2]) or int(match[2]) == 0:
        raise click.BadParameter(f"{value!r} is not I/N with I from 0 to N")
    return int(match[1]) or int(match[2]), int(match[2])


def console_of(context: click.Context) -> Console:
    """Return the console of this command line."""
    root = context.find_root()
    if not isinstance(root.obj, Console):
        root.obj = Console()
    return root.obj


def _set(context: click.Context, parameter: click.Parameter, value: Any) -> None:  # noqa: ANN401
    # Given before or after the command, a switch means the same; an absent one changes nothing.
    if value is not None and parameter.name is not None:
        setattr(console_of(context), parameter.name, value)


def _help(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    # Not click's own: it prints past the console, which knows of streams that cannot be written.
    if value:
        console_of(context).out(context.get_help())
        context.exit()


def everywhere(command: Command) -> Command:
    """Add the switches every command has."""
    command = click.option(
        "-h",
        "--help",
        is_flag=True,
        is_eager=True,
        expose_value=False,
        callback=_help,
        help="Show this message and exit.",
    )(command)
    for name, text in reversed(
        (
            ("--quiet", "Print results and failures only."),
            ("--verbose", "Tell more about what is done."),
            ("--debug", "Show the traceback of a failure."),
            (
                "--color/--no-color",
                "Colour or none; by default where a terminal is. NO_COLOR holds.",
            ),
        )
    ):
        command = click.option(
            name, is_flag=True, default=None, expose_value=False, callback=_set, help=text
        )(command)
    return command


def output(command: Command) -> Command:
    """Add ``-o DIR``."""
    return click.option(
        "-o",
        "--output",
        metavar="DIR",
        type=click.Path(path_type=Path),
        help="Folder to write. [default: RUN/nsysflow-report, else ./nsysflow-report-NAME]",
    )(command)


def shard(command: Command) -> Command:
    """Add ``--shard I/N``."""
    return click.option(
        "--shard",
        callback=_shard,
        metavar="I/N",
        help="Do the I-th of N parts only (a Slurm array); 0/N is the last part.",
    )(command)


_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)


def config(command: Command) -> Command:
    """Add ``--config FILE``."""
    return click.option(
        "--config",
        type=_FILE,
        metavar="FILE",
        help="Settings to use instead of nsysflow.toml in the run folder.",
    )(command)


def _stack(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command


def work(command: Command) -> Command:
    """Add how work is spread over processes or a cluster."""
    return _stack(
        command,
        (
            click.option(
                "--jobs",
                type=click.IntRange(min=1),
                metavar="N",
                help="Processes. [default: as many as cores, fewer for large lanes]",
            ),
            click.option(
                "--memory-limit",
                metavar="SIZE",
                help="Memory for the whole command, divided among its processes.",
            ),
            click.option(
                "--scheduler",
                metavar="ADDRESS",
                help="Hand the work to the Dask scheduler at this address.",
            ),
            click.option(
                "--scheduler-file",
                type=click.Path(path_type=Path),
                metavar="FILE",
                help="Hand the work to the Dask scheduler that wrote this file.",
            ),
        ),
    )


def reading(command: Command) -> Command:
    """Add what says how traces are read and who is which rank."""
    return _stack(
        command,
        (
            click.option(
                "--rank-map",
                type=_FILE,
                metavar="FILE",
                help="Which file (or file#pid, file#pid#device) is which rank.",
            ),
            click.option(
                "--rank-regex", metavar="RE", help="RE2 pattern that finds the rank in a path."
            ),
            click.option(
                "--step-range", metavar="RE", help="RE2 pattern of the NVTX range that is a step."
            ),
            click.option(
                "--from",
                "window_from_s",
                type=float,
                metavar="SECONDS",
                help="Leave out what lies before, on the capture's clock.",
            ),
            click.option(
                "--to",
                "window_to_s",
                type=float,
                metavar="SECONDS",
                help="Leave out what lies after, on the capture's clock.",
            ),
            click.option("--nsys", metavar="PATH", help="The nsys that exports .nsys-rep files."),
            click.option(
                "--no-redact",
                is_flag=True,
                default=None,
                help="Show host names as recorded instead of host-1, host-2, ...",
            ),
        ),
    )
