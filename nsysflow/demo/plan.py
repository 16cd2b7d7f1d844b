"""What a synthetic run is to hold: its size, layout, planted troubles and evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

EVIDENCE = ("nvtx", "osrt", "sync", "payload")
LATE_CAUSES = ("none", "compute", "data", "host", "rotating")
STEP_RANGES = ("numbered", "profiler", "optimizer", "none")
DATA_PARALLEL = ("fsdp", "ddp")
GPUS_PER_HOST = 8
MOST_RANKS = 1024

FORWARD_KERNELS = 12
BACKWARD_KERNELS = 22
HEAD_KERNELS = 7  # embedding, logits, loss and their backward
MOST_LAYERS = 64  # beyond, more micro-batches make up the number of kernels
SMALLEST_OPTIMIZER = 24
OPTIMIZER_SHARE = 0.15
USUAL_MALLOC_STEP = 5


@dataclass(frozen=True)
class Plan:
    """The options of one run.

    ``kernels`` is the number aimed at, per rank and over all steps. Steps count from 0; their
    printed numbers begin with ``first_number``. ``eval_step`` and ``checkpoint_step`` are step
    indices, ``None`` for none; ``malloc_step`` is one, ``None`` for the usual one if the run has
    it. ``stall_every`` plants a data-loader stall on every rank in each such step (0: never).
    """

    ranks: int = 8
    steps: int = 10
    kernels: int = 20_000
    seed: int = 0
    tensor_parallel: int = 1
    pipeline_parallel: int = 1
    data_parallel: str = "fsdp"
    micro_batches: int = 2
    late: str = "compute"
    late_rank: int | None = None
    evidence: frozenset[str] = field(default_factory=lambda: frozenset(EVIDENCE))
    step_ranges: str = "numbered"
    first_number: int = 100
    stall_every: int = 4
    warm_up: int = 1
    eval_step: int | None = None
    checkpoint_step: int | None = None
    malloc_step: int | None = None
    item: bool = True
    drift_ppb: int = 4_000

    def problems(self) -> list[str]:
        """Return one sentence for each option that cannot be met."""
        inner = self.tensor_parallel * self.pipeline_parallel
        checks = (
            (not 1 <= self.ranks <= MOST_RANKS, f"--ranks must be 1 to {MOST_RANKS}"),
            (self.steps < 1, "--steps must be at least 1"),
            (self.seed < 0, "--seed must be at least 0"),
            (self.stall_every < 0, "--stall-every must be at least 0"),
            (self.warm_up < 0, "--warm-up must be at least 0"),
            (self.drift_ppb < 0, "--drift-ppb must be at least 0"),
            *(
                (
                    _outside(step, self.steps),
                    f"{option} must be a step of the run, 0 to {self.steps - 1}",
                )
                for option, step in (
                    ("--eval-step", self.eval_step),
                    ("--checkpoint-step", self.checkpoint_step),
                    ("--malloc-step", self.malloc_step),
                )
            ),
            (self.kernels < self.steps, "--kernels must be at least --steps"),
            (inner < 1 or self.ranks % max(inner, 1) != 0, "--ranks must be a multiple of TP x PP"),
            (self.micro_batches < 1, "--micro-batches must be at least 1"),
            (
                _outside(self.late_rank, self.ranks),
                f"--late-rank must be a rank of the run, 0 to {self.ranks - 1}",
            ),
            (
                # A host that nothing holds up gathers for the next step early: not in the truth.
                not self.item and self.data_parallel == "fsdp" and self.ranks > inner,
                "--no-item does not go with fsdp: the true answers would not hold",
            ),
        )
        return [sentence for wrong, sentence in checks if wrong]

    @cached_property
    def replicas(self) -> int:
        """Ranks that hold the same shard of the model for different data."""
        return self.ranks // (self.tensor_parallel * self.pipeline_parallel)

    @cached_property
    def stage_ranks(self) -> int:
        """Ranks of one pipeline stage, numbered replica-major, tensor-parallel fastest."""
        return self.replicas * self.tensor_parallel

    @cached_property
    def optimizer_kernels(self) -> int:
        """Tiny kernels of one unfused optimizer step."""
        return max(SMALLEST_OPTIMIZER, int(self.kernels / self.steps * OPTIMIZER_SHARE))

    @cached_property
    def shape(self) -> tuple[int, int]:
        """Layers of one stage and micro-batches of one step that come nearest to ``kernels``."""
        layer = FORWARD_KERNELS + BACKWARD_KERNELS
        wanted = max(1.0, self.kernels / self.steps - self.optimizer_kernels)
        micro_batches = self.micro_batches
        layers = round((wanted / micro_batches - HEAD_KERNELS) / layer)
        if layers > MOST_LAYERS:
            micro_batches = round(wanted / (MOST_LAYERS * layer + HEAD_KERNELS))
            layers = MOST_LAYERS
        return max(1, layers), micro_batches

    @cached_property
    def allocating_step(self) -> int:
        """The step that allocates; it may lie beyond a short run."""
        return USUAL_MALLOC_STEP if self.malloc_step is None else self.malloc_step

    @cached_property
    def slow_rank(self) -> int | None:
        """The rank that is late in every step, if one is planted."""
        if self.late in {"none", "rotating"} or self.ranks == 1:
            return None
        return self.ranks * 5 // 8 if self.late_rank is None else self.late_rank

    def slow_in(self, step: int) -> int | None:
        """The rank that is late in ``step``."""
        if self.late == "rotating" and self.ranks > 1:
            return (step * 3 + self.seed) % self.ranks
        return self.slow_rank

    def stalls(self, step: int) -> bool:
        """Whether the data loader keeps every rank waiting in ``step``."""
        return bool(self.stall_every) and step % self.stall_every == self.stall_every // 2

    def has(self, evidence: str) -> bool:
        """Whether rows of this kind of evidence are written."""
        return evidence in self.evidence


def _outside(number: int | None, count: int) -> bool:
    """Whether a number that was given is none of 0 to ``count - 1``, where there are any."""
    return number is not None and count > 0 and not 0 <= number < count
