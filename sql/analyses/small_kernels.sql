-- small_kernels: how many kernels are too short to fill the GPU.
--
-- Question: is the work cut into pieces that cost more to begin than to do?
-- Grain:    one row
-- Needs:    owned_op
-- Params:
--   $small_ns BIGINT   shorter than this is small
-- Columns:
--   count          BIGINT  compute kernels
--   work_ns        BIGINT  their summed durations
--   small_count    BIGINT  the small ones
--   small_work_ns  BIGINT  their summed durations
SELECT
    count(*) AS count,
    coalesce(sum(end_ns - start_ns), 0)::BIGINT AS work_ns,
    count(*) FILTER (WHERE end_ns - start_ns < $small_ns) AS small_count,
    coalesce(sum(end_ns - start_ns) FILTER (WHERE end_ns - start_ns < $small_ns), 0)::BIGINT AS small_work_ns
FROM owned_op
WHERE kind = 'kernel' AND NOT comm
