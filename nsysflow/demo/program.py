"""The transformer as lists of kernel launches: forward, backward, loss, optimizer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from nsysflow.demo.kernels import IDS
from nsysflow.demo.sizes import FFN, HIDDEN, VOCAB

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from nsysflow.demo.sizes import Sizes

PIECE = 256  # launches simulated at once; smaller than the launch queue, which is watched per piece
OPTIMIZER_KERNEL_NS = 2_600
OPTIMIZER_GAP_NS = 7_000  # an unfused optimizer spends more in Python than on the GPU
LAUNCH_GAP_NS = 4_300
TENSOR_PARALLEL = "tensor_parallel"
NODE_KERNELS = 3
NODES = ("Addmm", "Mul", "RmsNorm", "FlashAttnFunc")

Item = tuple[str, int, str]  # kernel, ns, the op that launches it


@dataclass(frozen=True, eq=False)
class Batch:
    """Consecutive launches of one thread on the compute stream.

    Attributes:
        kernels: kernel ids, shape (n,).
        base_ns: undisturbed durations, shape (n,).
        ops: the framework op around each launch.
        spans: (text, first, last, level) ranges around launches; level 1 lies inside level 2.
        gap_ns: the host's own time before each launch.
    """

    kernels: NDArray[np.int64]
    base_ns: NDArray[np.int64]
    ops: tuple[str, ...]
    spans: tuple[tuple[str, int, int, int], ...] = ()
    gap_ns: int = LAUNCH_GAP_NS

    @property
    def size(self) -> int:
        """The number of launches."""
        return len(self.ops)


Part = Batch | str  # a string asks for the tensor-parallel all-reduce
Builder = Callable[["Sizes", int], list[Part]]


@lru_cache(maxsize=1024)
def forward_layer(sizes: Sizes, layer: int) -> list[Part]:
    """Return one layer's forward; 12 kernels."""
    thin, wide = sizes.stream_ns(HIDDEN, 3), sizes.stream_ns(FFN, 3)
    attention: list[Item] = [
        ("norm", thin, "aten::rms_norm"),
        ("qkv", sizes.gemm_ns(3 * HIDDEN), "aten::mm"),
        ("rope", thin, "FusedRoPEFunc"),
        ("attention", sizes.attention_ns(), "FlashAttnFunc"),
        ("project", sizes.gemm_ns(HIDDEN), "aten::mm"),
    ]
    mlp: list[Item] = [
        ("add", thin, "aten::add"),
        ("norm", thin, "aten::rms_norm"),
        ("gate_up", sizes.gemm_ns(2 * FFN), "aten::mm"),
        ("silu", wide, "aten::silu"),
        ("down", sizes.gemm_ns(HIDDEN, FFN), "aten::mm"),
    ]
    last: list[Item] = [("add", thin, "aten::add"), ("copy", thin, "aten::copy_")]
    return _split(sizes, (attention, mlp, last), f"layers.{layer}", "forward")


@lru_cache(maxsize=1024)
def backward_layer(sizes: Sizes, layer: int) -> list[Part]:
    """Return one layer's backward; 22 kernels."""
    thin, wide = sizes.stream_ns(HIDDEN, 3), sizes.stream_ns(FFN, 4)
    mlp: list[Item] = [
        ("copy", thin, "aten::copy_"),
        ("add", thin, "aten::add_"),
        *_linear(sizes.gemm_ns(HIDDEN, FFN)),
        ("silu_backward", wide, "aten::silu_backward"),
        *_linear(sizes.gemm_ns(2 * FFN)),
    ]
    attention: list[Item] = [
        ("norm_backward", 2 * thin, "aten::rms_norm_backward"),
        ("add", thin, "aten::add_"),
        ("sum", thin, "aten::sum"),
        *_linear(sizes.gemm_ns(HIDDEN)),
        ("attention_backward", 5 * sizes.attention_ns() // 2, "FlashAttnFuncBackward"),
        ("rope_backward", thin, "FusedRoPEFuncBackward"),
        *_linear(sizes.gemm_ns(3 * HIDDEN)),
    ]
    last: list[Item] = [
        ("norm_backward", 2 * thin, "aten::rms_norm_backward"),
        ("add", thin, "aten::add_"),
        ("sum", thin, "aten::sum"),
        ("copy", thin, "aten::copy_"),
        ("copy", thin, "aten::copy_"),
        ("add", thin, "aten::add_"),
    ]
    return _split(sizes, (mlp, attention, last), f"layers.{layer}", "backward")


def embedding(sizes: Sizes, _layer: int = 0) -> list[Part]:
    """Return the look-up."""
    return [_batch([("embedding", sizes.stream_ns(HIDDEN, 3), "aten::embedding")])]


def embedding_backward(sizes: Sizes, _layer: int = 0) -> list[Part]:
    """Return the look-up's backward."""
    op = "aten::embedding_dense_backward"
    return [_batch([("embedding_backward", sizes.stream_ns(HIDDEN, 3), op)])]


def head(sizes: Sizes, _layer: int = 0) -> list[Part]:
    """Return logits and loss."""
    logits, loss = sizes.gemm_ns(VOCAB), sizes.stream_ns(VOCAB, 2)
    return [_batch([("logits", logits, "aten::mm"), ("loss", loss, "aten::_log_softmax")])]


def head_backward(sizes: Sizes, _layer: int = 0) -> list[Part]:
    """Return the backward of logits and loss."""
    logits, loss = sizes.gemm_ns(VOCAB), sizes.stream_ns(VOCAB, 2)
    return [_batch([("loss_backward", loss, "aten::_log_softmax_backward_data"), *_linear(logits)])]


@lru_cache(maxsize=4)
def optimizer(count: int) -> list[Batch]:
    """Return ``count`` tiny kernels of an unfused AdamW, in pieces."""
    kinds = (
        ("adam_scale", "aten::_foreach_mul_"),
        ("adam_lerp", "aten::_foreach_lerp_"),
        ("adam_addcdiv", "aten::_foreach_addcdiv_"),
    )
    items = [(kinds[i % 3][0], OPTIMIZER_KERNEL_NS, kinds[i % 3][1]) for i in range(count)]
    return [
        _batch(items[at : at + PIECE], gap_ns=OPTIMIZER_GAP_NS) for at in range(0, count, PIECE)
    ]


@lru_cache(maxsize=1)
def gradient_norm() -> Batch:
    """Return the kernels of the gradient norm."""
    return _batch([("grad_norm", 40_000, "aten::_foreach_norm"), ("sum", 3_000, "aten::sum")])


def merged(parts: Iterable[Part]) -> list[Part]:
    """Join neighbouring batches into pieces: one simulation step for many layers."""
    found: list[Part] = []
    for part in parts:
        last = found[-1] if found else None
        if not isinstance(part, Batch) or not isinstance(last, Batch):
            found.append(part)
        elif last.size + part.size <= PIECE:
            found[-1] = _join(last, part)
        else:
            found.append(part)
    return found


def _linear(gemm_ns: int) -> list[Item]:
    return [("data_gradient", gemm_ns, "aten::mm"), ("weight_gradient", gemm_ns, "aten::mm")]


def _split(sizes: Sizes, parts: Sequence[list[Item]], layer: str, phase: str) -> list[Part]:
    if sizes.plan.tensor_parallel == 1:
        return [_batch([item for part in parts for item in part], layer, phase)]
    found: list[Part] = []
    for part in parts:
        found += [_batch(part, layer, phase), TENSOR_PARALLEL]
    return found[:-1]


def _batch(
    items: Sequence[Item], layer: str = "", phase: str = "", gap_ns: int = LAUNCH_GAP_NS
) -> Batch:
    spans: tuple[tuple[str, int, int, int], ...] = ()
    if phase == "forward":
        spans = ((layer, 0, len(items) - 1, 2),)
    elif phase == "backward":
        # One node of the autograd graph launches several kernels.
        node = "autograd::engine::evaluate_function: {}Backward0"
        starts = range(0, len(items), NODE_KERNELS)
        spans = tuple(
            (node.format(NODES[at % len(NODES)]), at, min(at + NODE_KERNELS, len(items)) - 1, 1)
            for at in starts
        )
    return Batch(
        np.array([IDS[key] for key, _, _ in items], dtype=np.int64),
        np.array([ns for _, ns, _ in items], dtype=np.int64),
        tuple(op for _, _, op in items),
        spans,
        gap_ns,
    )


def _join(one: Batch, other: Batch) -> Batch:
    at = one.size
    moved = tuple((text, a + at, b + at, level) for text, a, b, level in other.spans)
    return Batch(
        np.concatenate([one.kernels, other.kernels]),
        np.concatenate([one.base_ns, other.base_ns]),
        one.ops + other.ops,
        one.spans + moved,
        one.gap_ns,
    )
