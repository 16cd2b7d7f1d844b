-- evidence_call: CUDA calls that load, compile or allocate.
--
-- Question: which calls hold the host up without waiting for the GPU?
-- Grain:    one row per call
-- Needs:    api, string
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   thread    BIGINT   thread
--   cause     VARCHAR  jit_or_load or cuda_malloc_free
--   start_ns  BIGINT   call
--   end_ns    BIGINT   return
--   name_id   BIGINT   name of the call
WITH
_name AS (
    SELECT
        id AS name_id,
        CASE
            WHEN
                regexp_matches(
                    value,
                    '^(cu(da)?(Module|Library)(Load|Unload)|cu(da)?Link|nvrtc|cu(da)?GraphInstantiate'
                    || '|cu(da)?StreamBeginCapture|cu(da)?StreamEndCapture)'
                )
                THEN 'jit_or_load'
            WHEN
                regexp_matches(
                    value,
                    '^(cudaMalloc|cudaFree|cudaHost(Alloc|Register|Unregister)|cuMem(Alloc|Free|Host)'
                    || '|cuMem(Map|Unmap|Create|Release|SetAccess|AddressReserve|AddressFree)'
                    || '|cudaMemPool|cuMemPool)'
                )
                THEN 'cuda_malloc_free'
        END AS cause
    FROM string
    WHERE value LIKE 'cu%' OR value LIKE 'nvrtc%'
)

SELECT
    a.thread,
    n.cause,
    a.start_ns,
    a.end_ns,
    a.name_id
FROM api AS a
INNER JOIN _name AS n ON a.name_id = n.name_id
WHERE a.process = $process AND n.cause IS NOT NULL
