-- cuda_device: which GPU a process means by a CUDA ordinal.
--
-- Question: which GPU is device 0 of this process?
-- Grain:    one row per (process, ordinal)
-- Needs:    _raw_cuda_device, _raw_cuda_gpu
-- Params:
-- Columns:
--   gpu_id    BIGINT
--   cuda_id   BIGINT
--   pid       BIGINT
--   uuid      VARCHAR
--   sm_count  BIGINT
SELECT DISTINCT
    gpu_id,
    cuda_id,
    pid,
    nullif(uuid, '') AS uuid,
    sm_count
FROM _raw_cuda_device
UNION
SELECT
    id AS gpu_id,
    id AS cuda_id,
    pid,
    NULL AS uuid,
    sm_count
FROM _raw_cuda_gpu
WHERE pid IS NOT NULL
ORDER BY pid, cuda_id, gpu_id, uuid, sm_count
