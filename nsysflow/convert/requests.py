"""Which raw tables and columns are read, and under which names: all that is known of generations.

The names behind a field are those that an export may use for it, the best first.
"""

from __future__ import annotations

from nsysflow.read import Field, Request, blob, integer, text

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
MEMCPY = "CUPTI_ACTIVITY_KIND_MEMCPY"
MEMSET = "CUPTI_ACTIVITY_KIND_MEMSET"
GRAPH = "CUPTI_ACTIVITY_KIND_GRAPH_TRACE"
RUNTIME = "CUPTI_ACTIVITY_KIND_RUNTIME"
SYNC = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"
OVERHEAD = "CUPTI_ACTIVITY_KIND_OVERHEAD"
NVTX = "NVTX_EVENTS"
OSRT = "OSRT_API"
SCHED = "SCHED_EVENTS"
CUDA_EVENT = "CUPTI_ACTIVITY_KIND_CUDA_EVENT"
GPU_CONTEXT_SWITCH = "GPU_CONTEXT_SWITCH_EVENTS"

# Tables whose rows are events; without any of them there is nothing to convert.
DEVICE_TABLES = (KERNEL, MEMCPY, MEMSET, GRAPH)
EVENT_TABLES = (
    *DEVICE_TABLES,
    RUNTIME,
    SYNC,
    OVERHEAD,
    NVTX,
    OSRT,
    SCHED,
    "COMPOSITE_EVENTS",
    "GPU_METRICS",
    "GENERIC_EVENTS",
    "CUDA_GPU_MEMORY_USAGE_EVENTS",
    CUDA_EVENT,
    "CUDA_GRAPH_EVENTS",
    "CUDA_GRAPH_NODE_EVENTS",
    "CUBLAS_EVENTS",
    "CUDNN_EVENTS",
    "MPI_P2P_EVENTS",
    "MPI_COLLECTIVES_EVENTS",
    GPU_CONTEXT_SWITCH,
    "SYSCALL",
)
# What the result says is present, empty or absent.
TABLES = (
    *EVENT_TABLES,
    "StringIds",
    "ANALYSIS_DETAILS",
    "CUDA_CALLCHAINS",
    "DIAGNOSTIC_EVENT",
    "META_DATA_CAPTURE",
    "META_DATA_EXPORT",
    "MPI_RANKS",
    "NET_NIC_METRIC",
    "NVTX_PAYLOAD_SCHEMAS",
    "OSRT_CALLCHAINS",
    "PROCESSES",
    "PROFILER_OVERHEAD",
    "SAMPLING_CALLCHAINS",
    "TARGET_INFO_CUDA_CONTEXT_INFO",
    "TARGET_INFO_CUDA_DEVICE",
    "TARGET_INFO_CUDA_STREAM",
    "TARGET_INFO_GPU",
    "TARGET_INFO_GPU_METRICS",
    "TARGET_INFO_SESSION_START_TIME",
    "TARGET_INFO_SYSTEM_ENV",
    "ThreadNames",
)

_TIMES = (integer("start_ns", "start"), integer("end_ns", "end"))
_THREAD = integer("thread", "globalTid")
_PLACE = (
    integer("process_id", "globalPid"),
    integer("device", "deviceId"),
    integer("context", "contextId"),
    integer("stream", "streamId"),
    integer("correlation", "correlationId"),
)
_NAME = integer("name_id", "nameId")

API = Request(
    RUNTIME,
    (
        *_TIMES,
        _THREAD,
        _NAME,
        integer("correlation", "correlationId"),
        integer("return_value", "returnValue"),
        integer("callchain", "callchainId"),
    ),
)
OS_CALL = Request(OSRT, (*_TIMES, _THREAD, _NAME, integer("event_class", "eventClass")))
# One list for all device work, so that the four tables stand under each other; what a table lacks
# is NULL.
_OP_FIELDS = (
    *_TIMES,
    *_PLACE,
    integer("name_id", "demangledName", "shortName", "mangledName"),
    integer("short_id", "shortName", "demangledName", "mangledName"),
    integer("graph_node", "graphNodeId"),
    integer("graph", "graphId", "graphExecId"),
    integer("bytes"),
    integer("copy_kind", "copyKind"),
    integer("src_kind", "srcKind"),
    integer("dst_kind", "dstKind", "memKind"),
    integer("src_device", "srcDeviceId"),
    integer("dst_device", "dstDeviceId"),
    Field("grid", ("gridX", "gridY", "gridZ"), combine="product"),
    Field("block", ("blockX", "blockY", "blockZ"), combine="product"),
    integer("registers", "registersPerThread"),
    Field("shared_bytes", ("staticSharedMemory", "dynamicSharedMemory"), combine="sum"),
)
OPS = {
    "_raw_kernel": Request(KERNEL, _OP_FIELDS),
    "_raw_memcpy": Request(MEMCPY, _OP_FIELDS),
    "_raw_memset": Request(MEMSET, _OP_FIELDS),
    "_raw_graph": Request(GRAPH, _OP_FIELDS),
}
SYNCS = Request(
    SYNC,
    (
        *_TIMES,
        *_PLACE,
        integer("type", "syncType", "deprecatedSyncType"),
        integer("event", "eventId"),
        integer("event_sync", "eventSyncId"),
    ),
)
NVTX_EVENT = Request(
    NVTX,
    (
        *_TIMES,
        integer("event_type", "eventType"),
        text("text"),
        _THREAD,
        integer("end_thread", "endGlobalTid"),
        integer("text_id", "textId"),
        integer("domain", "domainId"),
    ),
)
NVTX_TIMES = Request(NVTX, (*_TIMES, integer("event_type", "eventType")))
NVTX_PAYLOAD_FIELDS = (
    *_TIMES,
    _THREAD,
    integer("domain", "domainId"),
    integer("event_type", "eventType"),
    text("text"),
    integer("text_id", "textId"),
    blob("payload", "binaryData"),
    text("json", "jsonText"),
)
_OVERHEAD_FIELDS = (*_TIMES, _THREAD, integer("type", "overheadType"), _NAME)
_PARTS = (integer("hw", "hwId"), integer("vm", "vmId"), integer("pid", "processId"))

STRINGS = Request("StringIds", (integer("id"), text("value")))
PRIVATE = {
    "_raw_output": Request("ProcessStreams", (integer("content_id", "contentId"),)),
    "_raw_file": Request("ANALYSIS_FILE", (integer("content_id", "contentId"),)),
}

_CUDA_GPU = Request(
    "TARGET_INFO_CUDA_GPU",
    (
        integer("id", "deviceId"),
        text("name"),
        text("bus", "pciBusId"),
        integer("sm_count", "numMultiprocessors"),
        integer("memory_bytes", "globalMemorySize"),
        integer("bandwidth_bytes_per_s", "globalMemoryBandwidth"),
        integer("pid"),
    ),
)
# Store table -> the raw tables behind its views. The order matters only to a reader.
SMALL: dict[str, dict[str, Request]] = {
    "overhead": {
        "_raw_overhead": Request(OVERHEAD, _OVERHEAD_FIELDS),
        "_raw_profiler_overhead": Request("PROFILER_OVERHEAD", _OVERHEAD_FIELDS),
    },
    "thread": {"_raw_thread": Request("ThreadNames", (_THREAD, _NAME))},
    "process": {
        "_raw_process": Request("PROCESSES", (integer("process_id", "globalPid"), text("name")))
    },
    "gpu": {
        "_raw_gpu": Request(
            "TARGET_INFO_GPU",
            (
                integer("id", "id", "deviceId"),
                text("name"),
                text("uuid"),
                text("bus", "busLocation"),
                integer("sm_count", "smCount"),
                integer("memory_bytes", "totalMemory"),
                integer("bandwidth_bytes_per_s", "memoryBandwidth"),
                integer("cuda_device", "cuDevice"),
                integer("registers_per_sm", "maxRegistersPerSm"),
                integer("shared_bytes_per_sm", "maxShmemPerSm"),
                integer("warps_per_sm", "maxWarpsPerSm"),
                integer("blocks_per_sm", "maxBlocksPerSm"),
                integer("warp_threads", "threadsPerWarp"),
            ),
        ),
        "_raw_cuda_gpu": _CUDA_GPU,
    },
    "cuda_device": {
        "_raw_cuda_device": Request(
            "TARGET_INFO_CUDA_DEVICE",
            (
                integer("gpu_id", "gpuId"),
                integer("cuda_id", "cudaId"),
                integer("pid"),
                text("uuid"),
                integer("sm_count", "numMultiprocessors"),
            ),
        ),
        "_raw_cuda_gpu": _CUDA_GPU,
    },
    "stream": {
        "_raw_stream": Request(
            "TARGET_INFO_CUDA_STREAM",
            (
                *_PARTS,
                integer("context", "contextId"),
                integer("stream", "streamId"),
                integer("priority"),
                integer("flag"),
            ),
        )
    },
    "context": {
        name: Request(
            table,
            (
                *_PARTS,
                integer("context", "contextId"),
                integer("device", "deviceId"),
                integer("null_stream", column),
            ),
        )
        for name, table, column in (
            ("_raw_context", "TARGET_INFO_CUDA_CONTEXT_INFO", "nullStreamId"),
            ("_raw_null_stream", "TARGET_INFO_CUDA_NULL_STREAM", "streamId"),
        )
    },
    "diagnostic": {
        "_raw_diagnostic": Request(
            "DIAGNOSTIC_EVENT",
            (
                integer("timestamp_ns", "timestamp"),
                integer("severity"),
                integer("source"),
                text("text"),
            ),
        )
    },
    "memory_event": {
        "_raw_memory": Request(
            "CUDA_GPU_MEMORY_USAGE_EVENTS",
            (
                integer("at_ns", "start"),
                integer("process_id", "globalPid"),
                integer("device", "deviceId"),
                integer("bytes"),
                integer("operation", "memoryOperationType"),
                integer("kind", "memKind"),
                integer("address"),
            ),
        )
    },
    "cuda_event": {
        "_raw_cuda_event": Request(
            CUDA_EVENT,
            (
                integer("at_ns", "timestamp"),
                *_PLACE,
                integer("event", "eventId"),
                integer("event_sync", "eventSyncId"),
            ),
        )
    },
    "context_switch": {
        "_raw_context_switch": Request(
            GPU_CONTEXT_SWITCH,
            (
                integer("at_ns", "timestamp"),
                integer("tag"),
                integer("vm", "vmId"),
                integer("sequence", "seqNo"),
                integer("context", "contextId"),
                integer("process_id", "globalPid"),
                integer("gpu_id", "gpuId"),
            ),
        )
    },
    "sched": {
        "_raw_sched": Request(
            SCHED,
            (
                integer("at_ns", "start"),
                _THREAD,
                integer("on_cpu", "isSchedIn"),
                integer("cpu"),
                integer("state", "threadState"),
                integer("block", "threadBlock"),
            ),
        ),
        "_raw_state": Request("ENUM_SAMPLING_THREAD_STATE", (integer("id"), text("name"))),
        "_raw_block": Request("ENUM_SCHEDULING_THREAD_BLOCK", (integer("id"), text("name"))),
    },
    "callchain": {
        "_raw_callchain": Request(
            "CUDA_CALLCHAINS",
            (
                integer("id"),
                integer("depth", "stackDepth"),
                integer("symbol_id", "symbol"),
                integer("module_id", "module"),
            ),
        )
    },
}


def times_of(request: Request) -> Request:
    """Return a request for the times alone of the rows of another."""
    return Request(request.table, _TIMES, request.only)
