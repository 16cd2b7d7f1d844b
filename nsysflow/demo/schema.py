"""The tables of export schema 3.25.0 that the generator writes, column by column."""

from __future__ import annotations

SCHEMA_VERSION = "3.25.0"
PRODUCT_VERSION = "2026.2.1.0"

_TIMED = "start! end!"
_DEVICE = f"{_TIMED} deviceId! contextId! greenContextId streamId! correlationId globalPid"
# Integers unless marked: ! is NOT NULL, :T text, :R real, :K the primary key.
_COLUMNS = {
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "CUPTI_ACTIVITY_KIND_KERNEL": f"{_DEVICE} demangledName! shortName! mangledName launchType"
    " cacheConfig registersPerThread! gridX! gridY! gridZ! blockX! blockY! blockZ!"
    " staticSharedMemory! dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId!"
    " sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone qmdPreexitDone"
    " qmdLastCtaDone graphId clusterX clusterY clusterZ clusterSchedulingPolicy"
    " maxPotentialClusterSize maxActiveClusters sharedMemoryRequestedPercentage"
    " tensorSizeMinusOneElements:T!",
    "CUPTI_ACTIVITY_KIND_MEMCPY": f"{_DEVICE} bytes! copyKind! deprecatedSrcId srcKind dstKind"
    " srcDeviceId srcContextId dstDeviceId dstContextId migrationCause graphNodeId virtualAddress"
    " copyCount",
    "CUPTI_ACTIVITY_KIND_MEMSET": f"{_DEVICE} value! bytes! graphNodeId memKind",
    "CUPTI_ACTIVITY_KIND_RUNTIME": f"{_TIMED} eventClass! globalTid correlationId nameId!"
    " returnValue! callchainId",
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": f"{_DEVICE} deprecatedSyncType syncType! eventId!"
    " eventSyncId",
    "DIAGNOSTIC_EVENT": "timestamp! timestampType! source! severity! text:T! globalPid",
    "META_DATA_CAPTURE": "name:T! value:T",
    "META_DATA_EXPORT": "name:T! value:T",
    "NVTX_EVENTS": "start! end eventType! rangeId category color text:T globalTid endGlobalTid"
    " textId domainId uint64Value int64Value doubleValue:R uint32Value int32Value floatValue:R"
    " jsonTextId jsonText:T binaryData:T",
    "NVTX_PAYLOAD_SCHEMAS": "domainId schemaId name:T type flags numEntries payloadSize alignTo",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": "domainId! schemaId! idx! flags type name:T description:T"
    " arrayOrUnionDetail offset",
    "OSRT_API": f"{_TIMED} eventClass! globalTid correlationId nameId! returnValue! nestingLevel"
    " callchainId!",
    "PROCESSES": "globalPid pid name:T",
    "PROFILER_OVERHEAD": f"{_TIMED} globalTid nameId! overheadType!",
    "StringIds": "id:K! value:T!",
    "TARGET_INFO_CUDA_CONTEXT_INFO": "nullStreamId! hwId! vmId! processId! deviceId! contextId!"
    " parentContextId isGreenContext numMultiprocessors numTpcs tpcMask:T workqueueResourceId"
    " workqueueConcurrencyLimit workqueueSharingScope",
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid! uuid:T numMultiprocessors",
    "TARGET_INFO_CUDA_STREAM": "streamId! hwId! vmId! processId! contextId! priority! flag!",
    "TARGET_INFO_GPU": "vmId! id! name:T busLocation:T isDiscrete l2CacheSize totalMemory"
    " memoryBandwidth clockRate smCount pwGpuId uuid:T luid chipName:T cuDevice ctxswDevPath:T"
    " ctrlDevPath:T revision nodeMask constantMemory maxIPC maxRegistersPerBlock"
    " maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm threadsPerWarp"
    " asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock maxBlockDimX maxBlockDimY"
    " maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ computeMajor computeMinor smMajor smMinor",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:T localTime:T systemClockNs",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName:T! name:T! nameEnum! value:T!",
    "ThreadNames": "nameId! priority globalTid",
}  # fmt: skip
_TYPES = {"": "INTEGER", "T": "TEXT", "R": "REAL", "K": "INTEGER"}


def create_table(name: str) -> str:
    """Return the statement that makes ``name``."""
    lines = []
    for word in _COLUMNS[name].split():
        plain = word.rstrip("!")
        column, _, kind = plain.partition(":")
        words = [f'"{column}"', _TYPES[kind]]
        if word.endswith("!"):
            words.append("NOT NULL")
        if kind == "K":
            words.append("PRIMARY KEY")
        lines.append(" ".join(words))
    return f'CREATE TABLE IF NOT EXISTS "{name}" ({", ".join(lines)})'
