"""A training program played on a ``StepLane``: the host launches, streams work off their queues."""

from __future__ import annotations

from collections import defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from tests.support.export import us
from tests.support.step_lane import AUTOGRAD, COMM, MAIN, PRIMARY, StepLane

if TYPE_CHECKING:
    from collections.abc import Iterator

CALL = us(5)
LAYERS = 6
# Names that nobody disputes, with their classes.
FORWARD = (
    ("rms_norm_fwd", "norm"),
    ("sm90_gemm_qkv", "gemm"),
    ("flash_fwd_kernel", "attention"),
    ("sm90_gemm_out", "gemm"),
    ("silu_mul", "activation"),
)
BACKWARD = (
    ("sm90_gemm_dgrad", "gemm"),
    ("sm90_gemm_wgrad", "gemm"),
    ("flash_bwd_kernel", "attention"),
    ("rms_norm_bwd", "norm"),
    ("vectorized_add", "elementwise"),
)
ADAM = "multi_tensor_apply_kernel<FusedOptimizerTensorListMetadata<4>, FusedAdamMathFunctor<float>>"
LERP = "multi_tensor_apply_kernel<TensorListMetadata<2>, LerpFunctor<float>>"
SGD = "multi_tensor_apply_kernel<TensorListMetadata<2>, BinaryOpListAlphaFunctor<float>>"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL"


@dataclass
class Program:
    """The host's clock and how long each stream is busy; ``edges`` are ends of primary work."""

    lane: StepLane = field(default_factory=StepLane)
    now: int = 1_000_000
    busy: dict[int, int] = field(default_factory=lambda: defaultdict(int))
    edges: list[int] = field(default_factory=list)

    def kernel(
        self, name: str, kind: str, ns: int = us(40), *, stream: int = PRIMARY, thread: int = MAIN,
        collective: str | None = None,
    ) -> int:  # fmt: skip
        """Launch a kernel; return when it ends."""
        start = max(self.now + CALL, self.busy[stream])
        self.busy[stream] = start + ns
        self.lane.kernel(
            name, start, start + ns, kind=kind, launch=self.now, stream=stream, thread=thread,
            collective=collective,
        )  # fmt: skip
        self.now += CALL
        return start + ns

    @contextmanager
    def range(self, text: str, **where: int) -> Iterator[None]:
        """Annotate what the host does meanwhile."""
        start = self.now
        self.now += 100
        yield
        self.now += 100
        self.lane.range(text, start, self.now, **where)

    def forward(self, layers: int = LAYERS) -> None:
        """Launch a forward pass."""
        self.kernel("embedding_lookup", "embedding")
        for _ in range(layers):
            for name, kind in FORWARD:
                self.kernel(name, kind)
        self.kernel("cross_entropy", "loss_softmax")

    def backward(self, layers: int = LAYERS, *, reduce: bool = False) -> None:
        """Launch a backward pass from the autograd thread; ``reduce``: an all-reduce per layer."""
        for _ in range(layers):
            for name, kind in BACKWARD:
                self.kernel(name, kind, thread=AUTOGRAD)
            if reduce:
                self.reduce()

    def reduce(self, stream: int = COMM) -> int:
        """Launch an all-reduce."""
        return self.kernel(ALL_REDUCE, "other", us(60), stream=stream, collective="all_reduce")

    def optimizer(self, count: int = 8, name: str = ADAM) -> None:
        """Launch an optimizer's kernels."""
        for _ in range(count):
            self.kernel(name, "optimizer", us(10))

    def pause(self, ns: int = us(400)) -> None:
        """Do something else, until the device is idle."""
        self.now = max(self.now, *self.busy.values(), 0) + ns

    def edge(self) -> None:
        """A step ends with what was last launched on the primary stream."""
        self.edges.append(self.busy[PRIMARY])


def tiles(edges: list[int]) -> list[tuple[int, int]]:
    """Return the windows between edges."""
    return list(pairwise(edges))
