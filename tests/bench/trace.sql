-- A large export: eight busy ranks in one file, as a dense autograd-nvtx capture would look.
--
-- Reads: size(kernels, first_pid, processes), made by make_trace.py; the tables exist and are empty.
-- Every kernel has a launch, two more calls, and two nested ranges with texts of their own. A step
-- is 12,500 kernels: forward on the main thread, backward on the autograd thread, then an item copy
-- with a synchronisation, then a pause of the device.

CREATE TEMP TABLE process AS
WITH RECURSIVE p(k) AS (
    SELECT 0
    UNION ALL
    SELECT k + 1 FROM p WHERE k + 1 < (SELECT processes FROM size)
)
SELECT
    k,
    first_pid + k AS pid,
    (1 << 48) | ((first_pid + k) << 24) AS global_pid
FROM p, size;

INSERT INTO StringIds
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
SELECT
    i,
    CASE
        WHEN i % 25 = 0
            THEN 'ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<' || i || 'ul>)'
        WHEN i % 3 = 0
            THEN 'void at::native::vectorized_elementwise_kernel<4, at::native::BinaryFunctor<float, '
                || 'float, float, at::native::AddFunctor<float>>, std::array<char *, ' || i || 'ul>>(int)'
        WHEN i % 5 = 0
            THEN 'void (anonymous namespace)::cunn_SoftMaxForward<' || i || ', float>(float *, float *)'
        WHEN i % 7 = 0
            THEN 'void flash_fwd_kernel<Flash_fwd_kernel_traits<' || i || ', 128, 64, 4, false>>()'
        ELSE 'sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_' || i
    END
FROM n;
INSERT INTO StringIds VALUES
    (201, 'cudaLaunchKernel_v7000'),
    (202, 'cudaStreamIsCapturing_v10000'),
    (203, 'cudaEventRecord_v3020'),
    (204, 'cudaMemcpyAsync_v3020'),
    (205, 'cudaStreamSynchronize_v3020'),
    (206, 'pt_main_thread'),
    (207, 'pt_autograd_0');
INSERT INTO StringIds
WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i < 249)
SELECT 300 + i, 'layers.' || (i / 5) || '.' || substr('attnmlp norm1norm2resid', 1 + 5 * (i % 5), 5) FROM n;

INSERT INTO META_DATA_EXPORT VALUES
    ('EXPORT_PRODUCT_VERSION', '2026.2.1.210-262137639846v0'), ('EXPORT_SCHEMA_VERSION', '3.25.0');
INSERT INTO TARGET_INFO_SESSION_START_TIME(utcEpochNs, systemClockNs) VALUES (1700000000000000000, 5);
INSERT INTO ANALYSIS_DETAILS SELECT 1, kernels * 9000 + 1000000000, 0, kernels * 9000 + 1000000000 FROM size;
INSERT INTO PROCESSES SELECT global_pid, pid, 'python' FROM process;
INSERT INTO ThreadNames SELECT 206, 0, global_pid | pid FROM process;
INSERT INTO ThreadNames SELECT 207, 0, global_pid | (pid + 500) FROM process;
INSERT INTO TARGET_INFO_GPU(vmId, id, name, busLocation, totalMemory, memoryBandwidth, smCount, uuid, cuDevice)
SELECT 1, k, 'NVIDIA H100 80GB HBM3', '0000:' || k || 'b:00.0', 85000000000, 3352320000000, 132, 'GPU-' || k, k
FROM process;
INSERT INTO TARGET_INFO_CUDA_DEVICE(gpuId, cudaId, pid, uuid) SELECT k, 0, pid, 'GPU-' || k FROM process;

-- i counts the kernels of a process; host time is 8 us a kernel and 400 us between steps.
CREATE TEMP VIEW launch AS
WITH RECURSIVE n(i) AS (
    SELECT 0
    UNION ALL
    SELECT i + 1 FROM n WHERE i + 1 < (SELECT kernels FROM size)
)
SELECT
    i,
    i / 12500 AS step,
    i % 12500 AS place,
    50000000 + i * 8000 + (i / 12500) * 400000 AS host_ns,
    -- A cheap scatter in place of randomness: the same file every time.
    ((i * 2654435761) >> 7) & 1048575 AS scatter
FROM n;

INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL(
    start, "end", deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName, launchType,
    registersPerThread, gridX, gridY, gridZ, blockX, blockY, blockZ, staticSharedMemory, dynamicSharedMemory,
    localMemoryPerThread, localMemoryTotal, gridId, graphNodeId, tensorSizeMinusOneElements
)
SELECT
    l.host_ns + 9000 + (l.scatter + p.k * 37) % 3000,
    l.host_ns + 9000 + (l.scatter + p.k * 37) % 3000
    + CASE WHEN l.i % 50 = 0 THEN 40000 ELSE 1500 + (l.scatter + p.k * 91) % 3400 END,
    0, 1, CASE WHEN l.i % 50 = 0 THEN 20 ELSE 7 END, l.i * 3 + 1, p.global_pid,
    CASE WHEN l.i % 50 = 0 THEN 25 * ((l.i / 50) % 8 + 1) ELSE (l.i * 7) % 24 + 1 + 25 * ((l.i / 9) % 8) END,
    CASE WHEN l.i % 50 = 0 THEN 25 ELSE (l.i * 7) % 24 + 1 END,
    1, (l.scatter % 200) + 16, (l.scatter % 512) + 1, 1, 1, 128, 1, 1, 0, (l.scatter % 64) * 1024, 0, 0, l.i, NULL, '[]'
FROM launch AS l, process AS p;

-- At the end of each step the item copy, 4 bytes, and a wait for everything queued. nsys writes
-- rows in the order of their starts.
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(start, "end", eventClass, globalTid, correlationId, nameId, returnValue)
SELECT
    l.host_ns + c.k * 2200,
    l.host_ns + c.k * 2200 + CASE c.k WHEN 1 THEN 1800 ELSE 700 + l.scatter % 900 END,
    0,
    p.global_pid | (p.pid + CASE WHEN l.place >= 6250 THEN 500 ELSE 0 END),
    l.i * 3 + c.k,
    CASE c.k WHEN 1 THEN 201 WHEN 0 THEN 202 ELSE 203 END,
    0
FROM launch AS l, process AS p, (SELECT 0 AS k UNION ALL SELECT 1 UNION ALL SELECT 2) AS c
UNION ALL
SELECT l.host_ns + 8000, l.host_ns + 14000, 0, p.global_pid | p.pid, 2000000000 + l.step, 204, 0
FROM launch AS l, process AS p WHERE l.place = 12499
UNION ALL
SELECT l.host_ns + 14500, l.host_ns + 90000, 0, p.global_pid | p.pid, 2100000000 + l.step, 205, 0
FROM launch AS l, process AS p WHERE l.place = 12499
ORDER BY 1;
INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY(
    start, "end", deviceId, contextId, streamId, correlationId, globalPid, bytes, copyKind, srcKind, dstKind
)
SELECT l.host_ns + 85000, l.host_ns + 87000, 0, 1, 7, 2000000000 + l.step, p.global_pid, 4, 2, 2, 1
FROM launch AS l, process AS p WHERE l.place = 12499
UNION ALL
SELECT l.host_ns + 12500, l.host_ns + 14000, 0, 1, 24, NULL, p.global_pid, 1048576, 1, 1, 2
FROM launch AS l, process AS p WHERE l.place % 100 = 7;
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION(
    start, "end", deviceId, contextId, streamId, correlationId, globalPid, syncType, eventId
)
SELECT l.host_ns + 15000, l.host_ns + 89500, 0, 1, 7, 2100000000 + l.step, p.global_pid, 3, 4294967295
FROM launch AS l, process AS p WHERE l.place = 12499;

-- Two nested framework ranges a kernel, each with a text of its own, as emit_nvtx writes them; a
-- module range around every fifty, forward or backward around those, and the step.
INSERT INTO NVTX_EVENTS(start, "end", eventType, text, textId, globalTid, domainId)
SELECT
    l.host_ns - 600 + c.k * 200,
    l.host_ns + 7000 - c.k * 300,
    59,
    CASE c.k WHEN 0 THEN 'aten::linear, seq = ' || l.i || ', op_id = ' ELSE 'aten::op' || (l.i % 40) || ', op_id = ' END
    || (l.i * 2 + c.k),
    NULL,
    p.global_pid | (p.pid + CASE WHEN l.place >= 6250 THEN 500 ELSE 0 END),
    0
FROM launch AS l, process AS p, (SELECT 0 AS k UNION ALL SELECT 1) AS c
UNION ALL
SELECT
    l.host_ns - 650, l.host_ns + 50 * 8000 - 750, 59, NULL, 300 + l.place / 50,
    p.global_pid | (p.pid + CASE WHEN l.place >= 6250 THEN 500 ELSE 0 END), 0
FROM launch AS l, process AS p WHERE l.i % 50 = 0
UNION ALL
SELECT
    l.host_ns - 700, l.host_ns + 6250 * 8000 - 710, 59, CASE WHEN l.place = 0 THEN 'forward' ELSE 'backward' END, NULL,
    p.global_pid | p.pid, 0
FROM launch AS l, process AS p WHERE l.i % 6250 = 0
UNION ALL
SELECT
    l.host_ns - 720, l.host_ns + 12500 * 8000 + 400000 - 730, 59, 'step ' || l.step, NULL, p.global_pid | p.pid, 0
FROM launch AS l, process AS p WHERE l.place = 0
ORDER BY 1;
