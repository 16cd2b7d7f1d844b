-- step_kernel: the kernels of the primary stream in their order.
--
-- Question: in which order did the model's kernels run?
-- Grain:    one row per kernel on the primary stream
-- Needs:    lane_op
-- Params:
--   $context BIGINT   context of the primary stream
--   $stream  BIGINT   primary stream
-- Columns:
--   at_ns    BIGINT   launching call, device start if none was recorded
--   start_ns BIGINT   device start
--   end_ns   BIGINT   device end
--   name_id  BIGINT   kernel name
SELECT
    coalesce(launch_start_ns, start_ns) AS at_ns,
    start_ns,
    end_ns,
    name_id
FROM lane_op
WHERE
    kind = 'kernel'
    AND end_ns > start_ns
    AND context IS NOT DISTINCT FROM $context
    AND stream IS NOT DISTINCT FROM $stream
