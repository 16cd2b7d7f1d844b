"""The kernels of the pretended job, by their real names."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Kernel:
    """One kernel function: names as an export shows them, its class, its launch shape."""

    name: str
    short: str
    kind: str
    grid: int = 264
    block: int = 256
    registers: int = 64
    shared_bytes: int = 0


_FLASH = "cutlass::device_kernel<flash::enable_sm90<flash::FlashAttn{0}Sm90<flash::Collective{1}>>>"
_NATIVE = "void at::native::vectorized_elementwise_kernel<(int)4, at::native::{0}>(int, T2, T3)"
_FOREACH = (
    "void at::native::<unnamed>::multi_tensor_apply_kernel<at::native::<unnamed>::"
    "TensorListMetadata<(int){0}>, at::native::<unnamed>::{1}>(T1, T2, T3...)"
)


def _gemm(tile: str) -> Kernel:
    name = f"nvjet_tst_{tile}"
    return Kernel(name, name, "gemm", grid=132, block=384, registers=168, shared_bytes=210_944)


def _triton(name: str, kind: str) -> Kernel:
    return Kernel(name, name, kind, grid=2048, block=256, registers=40, shared_bytes=64)


def _native(functor: str, kind: str) -> Kernel:
    return Kernel(_NATIVE.format(functor), "vectorized_elementwise_kernel", kind, grid=8192)


def _nccl(name: str) -> Kernel:
    full = f"ncclDevKernel_{name}(ncclDevKernelArgsStorage<(unsigned long)4096>)"
    return Kernel(full, f"ncclDevKernel_{name}", "comm", grid=24, block=544, registers=96)


KERNELS: dict[str, Kernel] = {
    "norm": _triton("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0", "norm"),
    "norm_backward": _triton("triton_red_fused__to_copy_add_div_mul_pow_rsqrt_sum_11", "norm"),
    "qkv": _gemm("192x192_64x4_2x1_v_bz_coopB_TNN"),
    "project": _gemm("128x256_64x4_2x1_v_bz_coopA_TNN"),
    "gate_up": _gemm("256x128_64x4_1x2_h_bz_coopA_TNT"),
    "down": _gemm("192x208_64x4_1x1_h_bz_coopB_NNT"),
    "data_gradient": _gemm("128x256_64x4_1x2_h_bz_coopA_NNN"),
    "weight_gradient": _gemm("256x128_64x4_2x1_v_bz_coopA_NTT"),
    "logits": _gemm("256x152_64x4_2x1_v_bz_coopB_TNN"),
    "rope": Kernel(
        "void transformer_engine::fused_rope_forward_kernel<__nv_bfloat16>(const T1 *, T1 *)",
        "fused_rope_forward_kernel",
        "rope",
    ),
    "rope_backward": Kernel(
        "void transformer_engine::fused_rope_backward_kernel<__nv_bfloat16>(const T1 *, T1 *)",
        "fused_rope_backward_kernel",
        "rope",
    ),
    "attention": Kernel(
        "void " + _FLASH.format("Fwd", "MainloopFwdSm90<(int)2>"),
        "device_kernel", "attention", 132, 384, 168, 213_000,
    ),
    "attention_backward": Kernel(
        "void " + _FLASH.format("Bwd", "MainloopBwdSm90<(int)2>"),
        "device_kernel", "attention", 132, 384, 168, 221_000,
    ),
    "silu": _triton("triton_poi_fused_mul_silu_7", "activation"),
    "silu_backward": _triton("triton_poi_fused_mul_silu_silu_backward_9", "activation"),
    "add": _native("CUDAFunctor_add<c10::BFloat16>, std::array<char *, 3>", "elementwise"),
    "copy": _native("bfloat16_copy_kernel_cuda(at::TensorIteratorBase &)::[lambda(float)]", "copy"),
    "sum": Kernel(
        "void at::native::reduce_kernel<(int)512, (int)1, at::native::ReduceOp<float, at::native::"
        "func_wrapper_t<float, at::native::sum_functor<float, float, float>>, unsigned int>>(T3)",
        "reduce_kernel", "reduce",
    ),
    "embedding": Kernel(
        "void at::native::<unnamed>::indexSelectLargeIndex<c10::BFloat16, long>(T1, T2)",
        "indexSelectLargeIndex", "embedding",
    ),
    "embedding_backward": Kernel(
        "void at::native::<unnamed>::embedding_backward_feature_kernel<c10::BFloat16>(T1 *)",
        "embedding_backward_feature_kernel", "embedding",
    ),
    "loss": Kernel(
        "void <unnamed>::cunn_SoftMaxForward<(int)4, float, float>(T3 *, const T2 *, int)",
        "cunn_SoftMaxForward", "loss_softmax",
    ),
    "loss_backward": Kernel(
        "void <unnamed>::cunn_SoftMaxBackward<(int)4, float, float>(T3 *, const T2 *, int)",
        "cunn_SoftMaxBackward", "loss_softmax",
    ),
    "grad_norm": Kernel(
        _FOREACH.format(1, "LpNormFunctor<float, (at::native::NormType)1, float>"),
        "multi_tensor_apply_kernel", "gradnorm",
    ),
    "adam_lerp": Kernel(
        _FOREACH.format(2, "TernaryOpScalarFunctor<float>, at::native::LerpFunctor<float>"),
        "multi_tensor_apply_kernel", "optimizer", 48, 512,
    ),
    "adam_addcdiv": Kernel(
        _FOREACH.format(3, "PointwiseOpScalarListFunctor<float, (int)3>, std::divides<float>"),
        "multi_tensor_apply_kernel", "optimizer", 48, 512,
    ),
    "adam_scale": Kernel(
        _FOREACH.format(1, "BinaryOpScalarFunctor<float>, std::multiplies<float>"),
        "multi_tensor_apply_kernel", "optimizer", 48, 512,
    ),
    "all_gather": _nccl("AllGather_RING_LL"),
    "reduce_scatter": _nccl("ReduceScatter_Sum_bf16_RING_LL"),
    "all_reduce": _nccl("AllReduce_Sum_bf16_RING_LL"),
    "all_reduce_float": _nccl("AllReduce_Sum_f32_RING_LL"),
    "send_recv": _nccl("SendRecv"),
}  # fmt: skip
IDS = {key: number for number, key in enumerate(KERNELS)}
TABLE = tuple(KERNELS.values())
KINDS = tuple(dict.fromkeys(kernel.kind for kernel in TABLE))
