"""The transformer that the run trains, and what its work costs on the pretended GPU."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nsysflow.demo.plan import Plan

HIDDEN = 2048
FFN = 5632
VOCAB = 32_000
HEADS = 16
SEQUENCE = 2048
PEAK_FLOPS = 989.4e12  # H100 SXM, dense bf16
GEMM_EFFICIENCY = 0.68
ATTENTION_EFFICIENCY = 0.42
MEMORY_BYTES_PER_S = 2.4e12
LINK_BYTES_PER_S = 3.0e11  # bus bandwidth inside a host
NETWORK_BYTES_PER_S = 1.2e11
COLLECTIVE_LATENCY_NS = 9_000
BYTES_BF16 = 2


@dataclass(frozen=True)
class Sizes:
    """Counts of one run: parameters, FLOPs, bytes. FLOPs are 6 N + causal attention."""

    plan: Plan

    @cached_property
    def layer_parameters(self) -> int:
        """Weights of one layer's matrix products."""
        return 4 * HIDDEN * HIDDEN + 3 * HIDDEN * FFN

    @cached_property
    def layers(self) -> int:
        """Layers of the whole model, all pipeline stages."""
        return self.plan.shape[0] * self.plan.pipeline_parallel

    @cached_property
    def parameters(self) -> int:
        """N of the formula: all matrix products, the logits included, the look-up not."""
        return self.layers * self.layer_parameters + VOCAB * HIDDEN

    @cached_property
    def flops_per_token(self) -> int:
        """Forward and backward, causal attention: 6 N + 6 L h s."""
        return 6 * self.parameters + 6 * self.layers * HIDDEN * SEQUENCE

    @cached_property
    def tokens_per_step(self) -> int:
        """Tokens of the global batch: one sequence per micro-batch and replica."""
        return SEQUENCE * self.plan.shape[1] * self.plan.replicas

    def gemm_ns(self, columns: int, rows: int = HIDDEN) -> int:
        """Time of a product of one micro-batch with a ``rows`` x ``columns`` weight shard."""
        flops = 2 * SEQUENCE * rows * columns / self.plan.tensor_parallel
        return _ns(flops / (PEAK_FLOPS * GEMM_EFFICIENCY))

    def attention_ns(self) -> int:
        """Time of the forward core attention of one micro-batch."""
        flops = 2 * SEQUENCE * SEQUENCE * HIDDEN / self.plan.tensor_parallel
        return _ns(flops / (PEAK_FLOPS * ATTENTION_EFFICIENCY))

    def stream_ns(self, columns: int, passes: int) -> int:
        """Time of a memory-bound kernel that touches tokens x ``columns`` values so often."""
        return _ns(passes * SEQUENCE * columns * BYTES_BF16 / MEMORY_BYTES_PER_S)

    @cached_property
    def shard_bytes(self) -> int:
        """Bytes one rank contributes to the all-gather of one layer."""
        parts = self.plan.tensor_parallel * self.plan.replicas
        return self.layer_parameters * BYTES_BF16 // parts

    @cached_property
    def activation_bytes(self) -> int:
        """Bytes of one micro-batch between two layers."""
        return SEQUENCE * HIDDEN * BYTES_BF16

    def transfer_ns(self, moved_bytes: float, *, hosts: int) -> int:
        """Time for a ring to move ``moved_bytes`` past each member."""
        rate = LINK_BYTES_PER_S if hosts == 1 else NETWORK_BYTES_PER_S
        return COLLECTIVE_LATENCY_NS + _ns(moved_bytes / rate)


def _ns(seconds: float) -> int:
    return max(1_500, round(seconds * 1e9))


def toml(sizes: Sizes) -> str:
    """Return the ``nsysflow.toml`` of the run."""
    plan = sizes.plan
    lines = [
        "# The model that this synthetic run pretends to train.",
        "[model]",
        f"params = {sizes.parameters}",
        f"layers = {sizes.layers}",
        f"hidden = {HIDDEN}",
        f"seq_len = {SEQUENCE}",
        f"tokens_per_step = {sizes.tokens_per_step}",
        f"world_size = {plan.ranks}",
        'dtype = "bf16"',
        'attention = "causal"',
        'recompute = "none"',
    ]
    return "\n".join(lines) + "\n"
