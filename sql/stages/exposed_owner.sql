-- exposed_owner: the ops that own exposed time, for cutting it further.
--
-- Question: which op held the GPU up, and when?
-- Grain:    one row per op and kept window
-- Needs:    exposed
-- Params:
--   $state VARCHAR   comm or mem
-- Columns:
--   owner        BIGINT   number, as they come
--   start_ns     BIGINT   the op owns the time from here
--   end_ns       BIGINT   to here
--   op_start_ns  BIGINT   device start of the op
--   op_end_ns    BIGINT   device end of the op
--   context      BIGINT   CUDA context
--   stream       BIGINT   CUDA stream
--   correlation  BIGINT   id shared with the launching call
--   step         INTEGER  step
--   input        BOOLEAN  a copy from host to device
SELECT
    row_number() OVER (ORDER BY start_ns) - 1 AS owner,
    start_ns,
    end_ns,
    op_start_ns,
    op_end_ns,
    context,
    stream,
    correlation,
    step,
    coalesce(copy_kind = 1, FALSE) AS input
FROM exposed
WHERE state = $state AND exposed_ns > 0
ORDER BY start_ns
