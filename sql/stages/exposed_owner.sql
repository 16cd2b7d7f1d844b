-- exposed_owner: the ops that own exposed time, for cutting it further.
--
-- Question: which op held the GPU up, and when?
-- Grain:    one row per op and kept window, numbered as they come
-- Needs:    exposed
-- Params:
--   $state VARCHAR   comm or mem
-- Columns:
--   start_ns   BIGINT   the op owns the time from here
--   end_ns     BIGINT   to here
--   op_end_ns  BIGINT   device end of the op
--   step       INTEGER  step
--   input      BOOLEAN  a copy from host to device
SELECT
    start_ns,
    end_ns,
    op_end_ns,
    step,
    coalesce(copy_kind = 1, FALSE) AS input
FROM exposed
WHERE state = $state AND exposed_ns > 0
ORDER BY start_ns
