-- gpu: the GPUs of the node.
--
-- Question: what is this GPU?
-- Grain:    one row per GPU that the export lists
-- Needs:    _raw_gpu, _raw_cuda_gpu
-- Params:
-- Columns:
--   id                     BIGINT
--   name                   VARCHAR
--   uuid                   VARCHAR
--   bus                    VARCHAR
--   sm_count               BIGINT
--   memory_bytes           BIGINT
--   bandwidth_bytes_per_s  BIGINT
--   cuda_device            BIGINT
--   nvidia                 BOOLEAN
--   registers_per_sm       BIGINT
--   shared_bytes_per_sm    BIGINT
--   warps_per_sm           BIGINT
--   blocks_per_sm          BIGINT
--   warp_threads           BIGINT
WITH
_listed AS (
    SELECT
        coalesce(_raw_gpu.id, _raw_cuda_gpu.id) AS id,
        coalesce(_raw_gpu.name, _raw_cuda_gpu.name) AS name,
        nullif(_raw_gpu.uuid, '') AS uuid,
        coalesce(nullif(_raw_gpu.bus, ''), _raw_cuda_gpu.bus) AS bus,
        coalesce(_raw_gpu.sm_count, _raw_cuda_gpu.sm_count) AS sm_count,
        coalesce(_raw_gpu.memory_bytes, _raw_cuda_gpu.memory_bytes) AS memory_bytes,
        coalesce(_raw_gpu.bandwidth_bytes_per_s, _raw_cuda_gpu.bandwidth_bytes_per_s) AS bandwidth_bytes_per_s,
        coalesce(_raw_gpu.cuda_device, _raw_cuda_gpu.id) AS cuda_device,
        -- A limit of zero is one that was not asked for.
        nullif(_raw_gpu.registers_per_sm, 0) AS registers_per_sm,
        nullif(_raw_gpu.shared_bytes_per_sm, 0) AS shared_bytes_per_sm,
        nullif(_raw_gpu.warps_per_sm, 0) AS warps_per_sm,
        nullif(_raw_gpu.blocks_per_sm, 0) AS blocks_per_sm,
        nullif(_raw_gpu.warp_threads, 0) AS warp_threads
    FROM _raw_gpu
    -- Until 2021 the CUDA properties stood in a table of their own, numbered by CUDA.
    FULL JOIN (
        SELECT DISTINCT ON (id) *
        FROM _raw_cuda_gpu
        ORDER BY id, name
    ) AS _raw_cuda_gpu
        ON coalesce(nullif(_raw_gpu.bus, '') = _raw_cuda_gpu.bus, _raw_gpu.id = _raw_cuda_gpu.id)
)

SELECT
    id,
    name,
    uuid,
    bus,
    sm_count,
    memory_bytes,
    bandwidth_bytes_per_s,
    CASE WHEN cuda_device >= 0 AND cuda_device < 65536 AND _is_nvidia THEN cuda_device END AS cuda_device,
    _is_nvidia AS nvidia,
    registers_per_sm,
    shared_bytes_per_sm,
    warps_per_sm,
    blocks_per_sm,
    warp_threads
FROM (
    SELECT
        *,
        coalesce(sm_count, 0) > 0 OR regexp_matches(
            coalesce(name, ''), '(?i)nvidia|tesla|quadro|geforce|titan|\brtx\b|^(?:[abhvlp]|gb|gh)[0-9]{1,3}\b'
        ) AS _is_nvidia
    FROM _listed
)
ORDER BY id, bus
