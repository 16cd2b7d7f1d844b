"""``nsysflow analyses``: the table of contents."""

from __future__ import annotations

import click

from nsysflow import options
from nsysflow.errors import UsageError


@click.command()
@click.argument("name", required=False)
@options.everywhere
@click.pass_context
def analyses(context: click.Context, /, name: str | None) -> None:
    """List what is analysed; with NAME what it measures, why it costs time, when it misleads."""
    from nsysflow.analyses import ANALYSES
    from nsysflow.console import aligned
    from nsysflow.findings import QUESTIONS

    console = options.console_of(context)
    if name is None:
        rows = [(each.name, each.title, each.question) for each in ANALYSES]
        header, *lines = aligned(("name", "title", "question"), rows)
        console.out("\n".join([console.bold(header), *lines]))
        return
    found = next((each for each in ANALYSES if each.name == name), None)
    if found is None:
        raise UsageError(f"no analysis is named {name}", hint="nsysflow analyses lists them")
    parts = [
        ("Question", found.question),
        ("Why it costs time", found.why),
        ("Do", found.do),
        ("When it misleads", found.misleads),
    ]
    console.out(console.bold(f"{found.name}: {found.title}"))
    for title, text in parts:
        console.out(f"\n{title}: {text}")
    for question in (each for each in QUESTIONS if name in each.needs):
        console.out("\n" + console.bold(f"Finding: {question.claim}"))
        for title, text in question.parts():
            console.out(f"  {title}: {text}")
