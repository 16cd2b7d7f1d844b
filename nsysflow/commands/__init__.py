"""One module per command; each imports what it calls only when it is called."""

from __future__ import annotations

import click

from nsysflow import front, options
from nsysflow.commands.analyse import analyse
from nsysflow.commands.analyses import analyses
from nsysflow.commands.convert import convert
from nsysflow.commands.demo import demo
from nsysflow.commands.doctor import doctor
from nsysflow.commands.render import render
from nsysflow.commands.report import report
from nsysflow.commands.sql import sql


class _Group(click.Group):
    def get_help(self, ctx: click.Context) -> str:  # noqa: ARG002 - click's signature
        """Return the same text that `--help` alone prints at once."""
        return front.HELP.rstrip("\n")


def _versions(context: click.Context, _parameter: click.Parameter, value: bool) -> None:
    if value:
        options.console_of(context).out(front.versions().rstrip("\n"))
        context.exit()


@click.group(cls=_Group, context_settings={"max_content_width": 100})
@click.option("--version", is_flag=True, is_eager=True, expose_value=False, callback=_versions)
@options.everywhere
def group() -> None:
    """Hold the commands."""


for _command in (report, convert, analyse, render, sql, analyses, doctor, demo):
    group.add_command(_command)
