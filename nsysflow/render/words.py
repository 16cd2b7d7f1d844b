"""What the pages call things: buckets, causes, classes and states."""

from __future__ import annotations

from dataclasses import dataclass

from nsysflow.model import (
    BUCKETS,
    COMMUNICATOR_KINDS,
    DEVICE_CAUSES,
    EXPOSED_COMM_PARTS,
    HOST_CAUSES,
    STEP_DROPS,
)


@dataclass(frozen=True)
class Word:
    """A name on the page: in prose, short on a mark, and the CSS class of its fill."""

    label: str
    short: str
    css: str
    term: str | None = None
    letter: str = ""


BUCKET = dict(
    zip(
        BUCKETS,
        (
            Word("Compute only", "Compute only", "compute", "compute"),
            Word("Compute with communication", "+ comm", "overlap", "overlap"),
            Word("Exposed communication", "Exposed comm", "comm", "exposed"),
            Word("Exposed copies", "Copies", "mem", "mem"),
            Word("Graph, not split", "Graph", "graph", "graph"),
            Word("Idle", "Idle", "idle", "idle"),
        ),
        strict=True,
    )
)

COMM_PART = dict(
    zip(
        EXPOSED_COMM_PARTS,
        (
            Word("wait for other ranks, gated", "wait", "x-wait", "wait"),
            Word("wait for other ranks, host late as well", "wait, host late", "x-late", "wait"),
            Word("transfer, gated", "transfer", "comm", "transfer"),
            Word("transfer, host late as well", "comm, host late", "x-late", "transfer"),
            Word("not split, gated", "comm, not split", "x-unsplit", "gated"),
            Word("not split, host late as well", "not split, host late", "x-unsplit", "gated"),
            Word("pipeline bubble", "bubble", "x-bubble", None),
        ),
        strict=True,
    )
)

_HOST = (
    ("profiler overhead", "O"),
    ("checkpoint", "O"),
    ("evaluation", "O"),
    ("compiling or loading code", "R"),
    ("allocating memory", "R"),
    ("host sync (blocking call)", "S"),
    ("data loading", "D"),
    ("garbage collection", "R"),
    ("setting up communication", "R"),
    ("waiting for the GIL", "L"),
    ("CPU contention", "L"),
    ("logging", "O"),
    ("launch-bound host", "L"),
    ("other annotated host work", "L"),
    ("not attributed", "?"),
)
_DEVICE = (
    "launch latency",
    "micro gap between queued kernels",
    "waiting for another stream",
    "gap inside a graph",
    "GPU shared with another process",
    "queued, cause not known",
)
LETTER_CSS = {c: "i-U" if c == "?" else f"i-{c}" for c in "SDLROQ?"}
LETTER_WORD = {
    "S": "sync",
    "D": "data",
    "L": "launch, host late",
    "R": "runtime, allocator",
    "O": "overhead, logging",
    "Q": "queued on the device",
    "?": "not attributed",
}


def _idle(label: str, letter: str) -> Word:
    return Word(label, label, LETTER_CSS[letter], None, letter)


IDLE_CAUSE = {
    cause: _idle(label, letter) for cause, (label, letter) in zip(HOST_CAUSES, _HOST, strict=True)
} | {
    cause: _idle(label, "L" if cause == "launch_latency" else "Q")
    for cause, label in zip(DEVICE_CAUSES, _DEVICE, strict=True)
}

# Names of level 2, of the walk and of older documents that need a word of their own.
OTHER_CAUSE = {
    "wait_unresolved": Word(
        "wait, cause on another rank not known", "wait, unresolved", "x-unsplit"
    ),
    "transfer": Word("transfer", "transfer", "comm", "transfer"),
}

MATRIX_CLASSES = frozenset({"attention", "gemm", "conv", "fused_comm_gemm"})
CLASS_LABEL = {
    "gemm": "GEMM",
    "conv": "convolution",
    "fused_comm_gemm": "GEMM with communication",
    "quant": "quantisation",
    "loss_softmax": "loss, softmax",
    "moe": "expert routing",
    "rope": "rotary embedding",
    "rng": "random numbers",
    "gradnorm": "gradient norm",
    "copy": "cast, copy",
    "triton_other": "Triton, other",
}
CATEGORY = {
    "kernel_efficiency": Word("Kernel efficiency", "Kernels", "compute"),
    "exposed_communication": Word("Exposed communication", "Communication", "comm"),
    "pipeline_bubble": Word("Pipeline bubble", "Bubble", "x-bubble"),
    "recomputation": Word("Recomputation", "Recomputation", "recomp"),
    "host_overhead": Word("Host overhead", "Host", "idle"),
    "data_loading": Word("Data loading", "Data", "i-D"),
    "stragglers": Word("Stragglers", "Stragglers", "x-wait"),
    "measurement": Word("Measurement", "Measurement", "nr"),
}
STATUS = {
    "ok": "ok",
    "not_recorded": "not recorded",
    "not_applicable": "not applicable",
    "withheld": "withheld",
    "error": "error",
    "unavailable": "could not look",
    "info": "info",
    "opportunity": "opportunity",
}
CONFIDENCE = {"high": "●●●", "medium": "●●○", "low": "●○○"}
MEMORY_KIND = {
    "h2d": "Host to device",
    "d2h": "Device to host",
    "h2a": "Host to array",
    "a2h": "Array to host",
    "a2a": "Array to array",
    "a2d": "Array to device",
    "d2a": "Device to array",
    "d2d": "Within the device",
    "p2p": "Device to device",
    "h2h": "Host to host",
    "memset": "Memset",
    "uvm_h2d": "Unified memory, to device",
    "uvm_d2h": "Unified memory, to host",
    "uvm_d2d": "Unified memory, between devices",
    "unknown": "Unknown",
}
STEP_SOURCE = {
    "user": "your own pattern",
    "nvtx_step": "numbered NVTX ranges",
    "framework": "ranges of the framework",
    "optimizer_range": "optimizer ranges",
    "optimizer_kernels": "optimizer kernels",
    "collectives": "the pattern of collectives",
    "sequence": "the repeating kernel sequence",
    "none": "nothing: the whole capture",
}
WATERFALL = {
    "mfu": ("MFU", "compute"),
    "recompute": ("Recomputation", "recomp"),
    "tensor_inefficiency": ("Matrix kernels below peak", "ineff"),
    "non_tensor_compute": ("Kernels that are not matrix work", "c-nontensor"),
    "exposed_comm": ("Exposed communication", "comm"),
    "pipeline_bubble": ("Pipeline bubble", "x-bubble"),
    "exposed_mem": ("Exposed copies", "mem"),
    "graph_opaque": ("Graph, not split", "graph"),
    "idle": ("Idle", "idle"),
}
RANK_SOURCE = {
    "user": "your rank map",
    "mpi": "MPI",
    "nccl": "NCCL",
    "env": "environment",
    "filename": "file name",
    "process": "one of several processes in the file",
    "unknown": "not found",
}


# Sections whose own name does not read as words.
SECTION = {
    "syncs": "Blocking calls",
    "memory": "Copies",
    "nvtx": "NVTX ranges",
    "api": "CUDA calls",
    "os_calls": "OS calls",
    "recompute": "Recomputation",
    "efficiency": "Kernel efficiency",
    "gpu_memory": "GPU memory",
    "mfu": "MFU",
}
GPU_SOURCE = {
    "cuda_device": "the device table",
    "only_gpu": "the only GPU in the file",
    "cu_device": "the device number",
}
RECOMPUTE_SOURCE = {
    "phases": "annotated phases",
    "nvtx": "annotated phases",
    "kernel_counts": "attention kernels counted",
}
# Keys of nsysflow.toml that texts name; those without an underscore read as words.
SETTING_KEYS = (
    "flops_per_token", "moe_active_params", "step_time_ms", "kv_heads", "head_dim", "seq_len",
    "tokens_per_step", "global_batch", "world_size", "ffn_matrices", "peak_tflops",
)  # fmt: skip
PAUSE = {"checkpoint": "checkpoint", "eval": "evaluation"}


def step_drop(reason: str) -> str:
    """Return why a step does not count, in words."""
    return STEP_DROPS.get(reason, plain(reason))


def communicator_kind(name: str | None) -> str:
    """Return what a communicator is for."""
    if name is None or name == "unknown":
        return "unknown"
    return COMMUNICATOR_KINDS.get(str(name), plain(str(name)))


def section_title(name: str) -> str:
    """Return what a section is called on a page."""
    return SECTION.get(name) or plain(name).capitalize()


def plain(name: str) -> str:
    """Return a machine name as words."""
    return name.replace("_", " ")


def cause(name: str) -> Word:
    """Return the word of a cause of any bucket; an unknown one is shown under its own name."""
    for table in (IDLE_CAUSE, COMM_PART, OTHER_CAUSE, BUCKET):
        if name in table:
            return table[name]
    return Word(plain(name), plain(name), "nr")


def kernel_class(name: str) -> str:
    """Return the label of a kernel class."""
    return CLASS_LABEL.get(name, plain(name))


def bucket_of(name: str | None) -> str | None:
    """Return the level-1 bucket that a bucket or cause name lies in, None where it is a view."""
    if name is None:
        return None
    head = name.replace("/", ".").split(".")[0]
    if head in BUCKET:
        return head
    if head in IDLE_CAUSE:
        return "idle"
    return "exposed_comm" if head in COMM_PART or head in OTHER_CAUSE else None
