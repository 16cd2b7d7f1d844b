"""The closed vocabularies of the result documents, in their binding orders."""

from __future__ import annotations

SCHEMA = 1
STORE_FORMAT = 3
# Before a warning in a rank document that is nsysflow's own, not the profiler's.
OWN = "nsysflow: "

BUCKETS = (
    "compute_only",
    "compute_comm_overlap",
    "exposed_comm",
    "exposed_mem",
    "graph_opaque",
    "idle",
)

# An instant with several compute kernels belongs to the first of these that runs.
CLASSES = (
    "attention",
    "gemm",
    "conv",
    "fused_comm_gemm",
    "quant",
    "norm",
    "loss_softmax",
    "moe",
    "rope",
    "embedding",
    "rng",
    "gradnorm",
    "optimizer",
    "activation",
    "reduce",
    "elementwise",
    "copy",
    "triton_other",
    "other",
)

# The order in which causes claim a host-late instant; the first with evidence wins.
HOST_CAUSES = (
    "profiler_overhead",
    "checkpoint",
    "eval",
    "jit_or_load",
    "cuda_malloc_free",
    "host_sync",
    "data_loading",
    "gc",
    "comm_host",
    "gil_wait",
    "cpu_contention",
    "logging",
    "launch_bound",
    "host_other_nvtx",
    "idle_unattributed",
)
DEVICE_CAUSES = (
    "launch_latency",
    "micro_gap",
    "dependency_stall",
    "graph_internal_gap",
    "gpu_shared",
    "queued_unexplained",
)
IDLE_CAUSES = HOST_CAUSES + DEVICE_CAUSES

EXPOSED_COMM_PARTS = (
    "wait_gated",
    "wait_host_late",
    "transfer_gated",
    "transfer_host_late",
    "unsplit_gated",
    "unsplit_host_late",
    "pipeline_bubble",
)

# Why a step does not count, in the words of the pages.
STEP_DROPS = {
    "partial": "cut off by the capture",
    "open": "its range never ends",
    "no device work": "no device work",
    "outside the chosen time": "outside the chosen time",
    "leading_gap_unseen": "the idle time before its first kernel was not captured",
    "fragment": "less than half a usual step",
    "checkpoint": "a checkpoint is written",
    "eval": "an evaluation runs",
    "profiler": "the profiler starts, stops or flushes",
    "nccl_init": "communicators are set up",
    "graph_capture": "a CUDA graph is captured",
    "jit_or_load": "code is compiled or loaded",
}

COMMUNICATOR_KINDS = {
    "tp": "tensor parallel",
    "dp": "data parallel",
    "fsdp": "sharded data parallel",
    "pp": "pipeline link",
    "ep": "expert parallel",
    "cp": "context parallel",
    "unknown": "of unknown kind",
}

PHASES = ("forward", "recompute", "backward", "optimizer", "other", "unknown")

CATEGORIES = (
    "kernel_efficiency",
    "exposed_communication",
    "pipeline_bubble",
    "recomputation",
    "host_overhead",
    "data_loading",
    "stragglers",
    "measurement",
)

RANK_SOURCES = ("user", "mpi", "nccl", "env", "filename", "process", "unknown")

COLLECTIVE_OPS = (
    "all_reduce",
    "all_gather",
    "reduce_scatter",
    "broadcast",
    "reduce",
    "all_to_all",
    "send_recv",
    "gather",
    "scatter",
    "barrier",
    "p2p_copy",
    "generic",
)
