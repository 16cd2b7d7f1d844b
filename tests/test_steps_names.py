"""Which texts may name a step: the shipped patterns, straight from the stage that holds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.step_lane import PROCESS, StepLane

if TYPE_CHECKING:
    from collections.abc import Iterable

NUMBERED = {
    "step 5": "5",
    "Step 90 to 100": "90",
    "ProfilerStep#12": "12",
    "ProfilerStep # 12": "12",
    "Step 3/100": "3",
    "step=5": "5",
    "iteration 7 of 100]": "7",
    "global_step 12": "12",
    "iteration12": "12",
    "train_step 4": "4",
    "training step: 4": "4",
    "batch [17]": "17",
    "iter #3": "3",
}
FRAMEWORK = {
    "[pl][profile]run_training_batch": ("lightning", "step"),
    "[pl][profile][Strategy]DDPStrategy.training_step": ("lightning", "unit"),
    "[pl][profile][LightningModule]Net.optimizer_step": ("lightning", "end"),
    "DeepSpeedEngine.forward": ("deepspeed", "unit"),
    "DeepSpeedEngine.step": ("deepspeed", "end"),
    "megatron.training.training.train_step": ("megatron", "step"),
    "megatron.core.pipeline_parallel.schedules.forward_backward_no_pipelining": (
        "megatron",
        "unit",
    ),
    "core.schedules.forward_backward_pipelining_with_interleaving.warmup": ("megatron", "unit"),
}
OPTIMIZER = ("Optimizer.step#AdamW.step", "optimizer.step", "optimizer_step", "my optimizer.step")
REFUSED = {
    "TSL:Thunk:#name=fusion.3#": "jax",
    "TSL:XlaModule:#prefix=jit_train_step,hlo_module=jit_train_step,program_id=3#": "jax",
    "[Executor] _forward_step 17: 2 ctx reqs, 30 gen reqs": "inference",
    "gpu_model_runner: forward": "inference",
}
NEVER = (
    "step_function_3", "stepwise 4", "batchnorm 3", "layer 3", "Step 5 forward", "step",
    "stepper 2",
    "steps 4", "epoch 3", "my step 4", "aten::step 4", "iterations of 4", "minibatch 4", "batch",
    "step 5 loss=3.2", "warmup", "benchmark_loop", "cub::DeviceReduce::Sum", "train_step",
    "DeepSpeedEngine.backward", "optimizer_stepper", "[pl][profile]run_training_epoch",
    "[pl][profile][Strategy]DDPStrategy.validation_step", "ncclAllReduce", "Compute 20",
    "schedules.forward_backward_no_pipelining.steady", "Optimizer.zero_grad#AdamW.zero_grad",
)  # fmt: skip

Found = dict[str, dict[str, str | None]]


def found(texts: Iterable[str], step_range: str | None = None) -> Found:
    """What the stage makes of each text that it takes."""
    lane = StepLane()
    lane.kernel("k", 0, 1)
    for text in texts:
        lane.range(text, 0, 1)
    work = lane.workspace()
    work.table("step_text", process=PROCESS, step_range=step_range)
    numbers = {number: text for text, number in lane.names.items()}
    return {numbers[row["name_id"]]: row for row in work.kept("step_text").to_pylist()}


@pytest.fixture(scope="module")
def everything() -> Found:
    return found([*NUMBERED, *FRAMEWORK, *OPTIMIZER, *REFUSED, *NEVER])


def test_numbered_steps(everything: Found) -> None:
    for text, number in NUMBERED.items():
        row = everything[text]
        assert (row["source"], row["number"]) == ("nvtx_step", number), text


def test_framework_ranges(everything: Found) -> None:
    for text, expected in FRAMEWORK.items():
        row = everything[text]
        assert (row["source"], row["family"], row["role"]) == ("framework", *expected), text


def test_optimizers_and_refusals(everything: Found) -> None:
    assert {everything[text]["source"] for text in OPTIMIZER} == {"optimizer_range"}
    assert {text: everything[text]["source"] for text in REFUSED} == REFUSED


def test_look_alikes_are_never_steps(everything: Found) -> None:
    assert not {text for text in NEVER if text in everything}


def test_the_users_pattern_takes_any_text() -> None:
    rows = found(NEVER, "^layer")
    assert {text: row["source"] for text, row in rows.items()} == {"layer 3": "user"}
    assert rows["layer 3"]["series"] == "^layer"
