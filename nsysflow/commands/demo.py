"""``nsysflow demo``: a synthetic run with its true answers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from nsysflow import options
from nsysflow.demo.plan import DATA_PARALLEL, EVIDENCE, LATE_CAUSES, STEP_RANGES, Plan


def _evidence(_context: click.Context, _parameter: click.Parameter, value: str) -> frozenset[str]:
    kinds = frozenset(part.strip() for part in value.split(",") if part.strip())
    wrong = sorted(kinds - set(EVIDENCE) - {"none"})
    if wrong:
        raise click.BadParameter(f"{', '.join(wrong)}: choose from {', '.join(EVIDENCE)} or none")
    return kinds - {"none"}


@click.command()
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path, file_okay=False))
@click.option("--ranks", default=8, show_default=True, help="1 to 1024.")
@click.option("--steps", default=10, show_default=True)
@click.option("--kernels", default=20_000, show_default=True, help="Per rank, all steps together.")
@click.option("--seed", default=0, show_default=True, help="The same seed makes the same rows.")
@click.option("--tp", "tensor_parallel", default=1, show_default=True, help="Tensor parallel.")
@click.option("--pp", "pipeline_parallel", default=1, show_default=True, help="Pipeline stages.")
@click.option(
    "--data-parallel", type=click.Choice(DATA_PARALLEL), default="fsdp", show_default=True
)
@click.option("--micro-batches", default=2, show_default=True)
@click.option(
    "--late-by", "late", type=click.Choice(LATE_CAUSES), default="compute", show_default=True,
    help="What makes one rank late; rotating: another rank in each step.",
)  # fmt: skip
@click.option("--late-rank", type=int, help="Which rank.  [default: RANKS * 5 / 8]")
@click.option(
    "--evidence", default=",".join(EVIDENCE), show_default=True, callback=_evidence,
    help="What the capture recorded, of nvtx,osrt,sync,payload; none for nothing of these.",
)  # fmt: skip
@click.option(
    "--step-ranges", type=click.Choice(STEP_RANGES), default="numbered", show_default=True,
    help="How the NVTX ranges name the steps.",
)  # fmt: skip
@click.option("--stall-every", default=4, show_default=True, help="Data-loader stalls; 0: none.")
@click.option("--warm-up", default=1, show_default=True, help="Steps that load modules.")
@click.option("--eval-step", type=int, help="The step, from 0, that evaluates.")
@click.option("--checkpoint-step", type=int, help="The step, from 0, that saves.")
@click.option(
    "--malloc-step", type=int,
    help="A step, from 0, that allocates, as the first does.  [default: 5, if the run has it]",
)  # fmt: skip
@click.option("--item/--no-item", default=True, help="Read and log the loss in every step.")
@click.option("--drift-ppb", default=4_000, show_default=True, help="Most by which clocks drift.")
@options.everywhere
@click.pass_context
def demo(
    context: click.Context,
    /,
    folder: Path,
    **asked: Any,
) -> int:
    """Write a run of a transformer job into DIR: exports, nsysflow.toml and truth.json."""
    from nsysflow.demo import make_run

    console = options.console_of(context)
    plan = Plan(**asked)
    truth = make_run(folder, plan)
    kernels = sum(
        entry["count"]
        for rank in truth["ranks"]
        for step in rank["steps"]
        for entry in step["kernels"].values()
    )
    ranks = "1 rank" if plan.ranks == 1 else f"{plan.ranks} ranks"
    console.out(f"{ranks}, {plan.steps} steps, {kernels:,} kernels: {folder}")
    console.out(f"true answers: {folder / 'truth.json'}")
    return 0
