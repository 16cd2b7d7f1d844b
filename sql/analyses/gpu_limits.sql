-- gpu_limits: what a multiprocessor of the lane's GPU can hold.
--
-- Question: how many blocks of a kernel fit on the GPU at once?
-- Grain:    one row, none where the GPU is not known
-- Needs:    gpu
-- Params:
--   $uuid VARCHAR  the lane's GPU; NULL where it has none
--   $bus  VARCHAR  its PCI bus, asked only without a UUID
-- Columns:
--   sm_count             BIGINT  multiprocessors
--   registers_per_sm     BIGINT  registers of one; NULL if not recorded, as are the others
--   shared_bytes_per_sm  BIGINT  shared memory of one
--   warps_per_sm         BIGINT  warps that one holds
--   blocks_per_sm        BIGINT  blocks that one holds
--   warp_threads         BIGINT  threads of a warp
SELECT
    sm_count,
    registers_per_sm,
    shared_bytes_per_sm,
    warps_per_sm,
    blocks_per_sm,
    warp_threads
FROM gpu
WHERE CASE WHEN $uuid IS NULL THEN bus = $bus ELSE uuid = $uuid END
ORDER BY id, bus
LIMIT 1
