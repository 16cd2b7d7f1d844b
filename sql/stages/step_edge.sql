-- step_edge: what the device did for each step's host range.
--
-- Question: when is the last op of each step over on the primary stream?
-- Grain:    one row per step that owns device work
-- Needs:    lane_op, host_range_bucket
-- Params:
--   $shift     INTEGER  as host_range_bucket
--   $optimizer INTEGER  place of the class optimizer
-- Columns:
--   step            INTEGER  which host range
--   ops             BIGINT   ops launched inside
--   optimizer_ops   BIGINT   those of the optimizer among them
--   first_start_ns  BIGINT   the earliest device start among them, any stream
--   last_end_ns     BIGINT   the latest device end among those on the primary stream, NULL if none
SELECT
    b.step,
    count(*) AS ops,
    count(*) FILTER (WHERE o.class_rank = $optimizer) AS optimizer_ops,
    min(o.start_ns) AS first_start_ns,
    max(o.end_ns) FILTER (WHERE o.is_primary) AS last_end_ns
FROM lane_launch AS o
INNER JOIN host_range_bucket AS b
    ON o.at_ns >> $shift = b.slice AND o.at_ns >= b.start_ns AND o.at_ns < b.end_ns
-- A zero-length op holds no time and so ends no step.
WHERE o.end_ns > o.start_ns
GROUP BY b.step
ORDER BY b.step
