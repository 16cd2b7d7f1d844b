"""The tables of a real export of schema 3.25 (a few from 3.24), as compact column lists.

A bare name is an INTEGER column; ``!`` marks NOT NULL, ``:T`` TEXT, ``:R`` REAL, ``*`` the key.
"""

from __future__ import annotations

COLUMNS = {
    "ANALYSIS_DETAILS": "globalVid! duration! startTime! stopTime!",
    "ANALYSIS_FILE": "id!* filename:T contentId globalPid!",
    "COMPOSITE_EVENTS": "id!* start! cpu threadState globalTid cpuCycles!",
    "CUDA_CALLCHAINS": (
        "id! symbol! module! kernelMode thumbCode unresolved specialEntry originalIP "
        "unwindMethod stackDepth!"
    ),
    "CUDA_GPU_MEMORY_USAGE_EVENTS": (
        "start! globalPid! deviceId! contextId! address! pc! bytes! memKind! "
        "memoryOperationType! name:T correlationId streamId"
    ),
    "CUDA_GRAPH_EVENTS": (
        "start! end! eventClass! globalTid nameId! graphId originalGraphId graphExecId"
    ),
    "CUPTI_ACTIVITY_KIND_CUDA_EVENT": (
        "timestamp deviceId! contextId! greenContextId streamId! correlationId globalPid "
        "eventId! eventSyncId"
    ),
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (
        "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid "
        "graphId! graphExecId!"
    ),
    "CUPTI_ACTIVITY_KIND_KERNEL": (
        "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid "
        "demangledName! shortName! mangledName launchType cacheConfig registersPerThread! "
        "gridX! gridY! gridZ! blockX! blockY! blockZ! staticSharedMemory! "
        "dynamicSharedMemory! localMemoryPerThread! localMemoryTotal! gridId! "
        "sharedMemoryExecuted graphNodeId sharedMemoryLimitConfig qmdBulkReleaseDone "
        "qmdPreexitDone qmdLastCtaDone graphId clusterX clusterY clusterZ "
        "clusterSchedulingPolicy maxPotentialClusterSize maxActiveClusters "
        "sharedMemoryRequestedPercentage tensorSizeMinusOneElements!:T"
    ),
    "CUPTI_ACTIVITY_KIND_MEMCPY": (
        "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid "
        "bytes! copyKind! deprecatedSrcId srcKind dstKind srcDeviceId srcContextId "
        "dstDeviceId dstContextId migrationCause graphNodeId virtualAddress copyCount"
    ),
    "CUPTI_ACTIVITY_KIND_MEMSET": (
        "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid "
        "value! bytes! graphNodeId memKind"
    ),
    "CUPTI_ACTIVITY_KIND_OVERHEAD": (
        "start! end! eventClass! globalTid correlationId nameId overheadType!"
    ),
    "CUPTI_ACTIVITY_KIND_RUNTIME": (
        "start! end! eventClass! globalTid correlationId nameId! returnValue! callchainId"
    ),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": (
        "start! end! deviceId! contextId! greenContextId streamId! correlationId globalPid "
        "deprecatedSyncType syncType! eventId! eventSyncId"
    ),
    "DIAGNOSTIC_EVENT": "timestamp! timestampType! source! severity! text!:T globalPid",
    "GPU_METRICS": "rawTimestamp! timestamp! typeId! metricId! value!",
    "META_DATA_CAPTURE": "name!:T value:T",
    "META_DATA_EXPORT": "name!:T value:T",
    "MPI_RANKS": "globalTid! rank!",
    "NVTX_EVENTS": (
        "start! end eventType! rangeId category color text:T globalTid endGlobalTid textId "
        "domainId uint64Value int64Value doubleValue:R uint32Value int32Value floatValue:R "
        "jsonTextId jsonText:T binaryData:T"
    ),
    "NVTX_PAYLOAD_SCHEMAS": "domainId schemaId name:T type flags numEntries payloadSize alignTo",
    "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
        "domainId! schemaId! idx! flags type name:T description:T arrayOrUnionDetail offset"
    ),
    "OSRT_API": (
        "start! end! eventClass! globalTid nameId! returnValue! nestingLevel callchainId! "
        "argumentsId!"
    ),
    "OSRT_CALLCHAINS": (
        "id! symbol! module! kernelMode thumbCode unresolved specialEntry originalIP "
        "unwindMethod stackDepth!"
    ),
    "PROCESSES": "globalPid pid name:T",
    "PROFILER_OVERHEAD": "start! end! globalTid nameId! overheadType!",
    "ProcessStreams": "globalPid! filenameId! contentId!",
    "SAMPLING_CALLCHAINS": (
        "id! symbol! module! kernelMode thumbCode unresolved specialEntry originalIP "
        "unwindMethod stackDepth!"
    ),
    "GPU_CONTEXT_SWITCH_EVENTS": "tag! vmId! seqNo! contextId! timestamp! globalPid gpuId",
    "SCHED_EVENTS": "start! cpu! isSchedIn! globalTid threadState threadBlock",
    "StringIds": "id!* value!:T",
    "TARGET_INFO_CUDA_CONTEXT_INFO": (
        "nullStreamId! hwId! vmId! processId! deviceId! contextId! parentContextId "
        "isGreenContext numMultiprocessors numTpcs tpcMask:T workqueueResourceId "
        "workqueueConcurrencyLimit workqueueSharingScope"
    ),
    "TARGET_INFO_CUDA_DEVICE": "gpuId cudaId! pid! uuid:T numMultiprocessors",
    "TARGET_INFO_CUDA_STREAM": "streamId! hwId! vmId! processId! contextId! priority! flag!",
    "TARGET_INFO_GPU": (
        "vmId! id! name:T busLocation:T isDiscrete l2CacheSize totalMemory memoryBandwidth "
        "clockRate smCount pwGpuId uuid:T luid chipName:T cuDevice ctxswDevPath:T "
        "ctrlDevPath:T revision nodeMask constantMemory maxIPC maxRegistersPerBlock "
        "maxShmemPerBlock maxShmemPerBlockOptin maxShmemPerSm maxRegistersPerSm "
        "threadsPerWarp asyncEngines maxWarpsPerSm maxBlocksPerSm maxThreadsPerBlock "
        "maxBlockDimX maxBlockDimY maxBlockDimZ maxGridDimX maxGridDimY maxGridDimZ "
        "computeMajor computeMinor smMajor smMinor"
    ),
    "TARGET_INFO_GPU_METRICS": "typeId! sourceId! typeName!:T metricId! metricName!:T",
    "TARGET_INFO_NIC_INFO": "GUID stateName!:T nicId name!:T deviceId! vendorId! linkLayer!",
    "TARGET_INFO_SESSION_START_TIME": "utcEpochNs utcTime:T localTime:T systemClockNs",
    "TARGET_INFO_SYSTEM_ENV": "globalVid devStateName!:T name!:T nameEnum! value!:T",
    "ThreadNames": "nameId! priority globalTid",
}

ENUMS = (
    "ENUM_CUDA_DEV_MEM_EVENT_OPER",
    "ENUM_CUDA_FUNC_CACHE_CONFIG",
    "ENUM_CUDA_KERNEL_LAUNCH_TYPE",
    "ENUM_CUDA_MEMCPY_OPER",
    "ENUM_CUDA_MEMPOOL_OPER",
    "ENUM_CUDA_MEMPOOL_TYPE",
    "ENUM_CUDA_MEM_KIND",
    "ENUM_CUDA_SHARED_MEM_LIMIT_CONFIG",
    "ENUM_CUDA_UNIF_MEM_ACCESS_TYPE",
    "ENUM_CUDA_UNIF_MEM_MIGRATION",
    "ENUM_CUPTI_OVERHEAD_TYPE",
    "ENUM_CUPTI_STREAM_TYPE",
    "ENUM_CUPTI_SYNC_TYPE",
    "ENUM_DIAGNOSTIC_SEVERITY_LEVEL",
    "ENUM_DIAGNOSTIC_SOURCE_TYPE",
    "ENUM_DIAGNOSTIC_TIMESTAMP_SOURCE",
    "ENUM_NSYS_EVENT_CLASS",
    "ENUM_NSYS_EVENT_TYPE",
    "ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_FLAGS",
    "ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_PROPERTY",
    "ENUM_NSYS_GENERIC_EVENT_FIELD_ETW_TYPE",
    "ENUM_NSYS_GENERIC_EVENT_FIELD_TYPE",
    "ENUM_NSYS_GENERIC_EVENT_GROUP",
    "ENUM_NSYS_GENERIC_EVENT_SOURCE",
)
