-- first_edge: where the primary stream stood when the first step was asked for, and what came after.
--
-- Question: when does the first step's window begin, and was the last step cut?
-- Grain:    one row
-- Needs:    lane_launch
-- Params:
--   $host_start_ns BIGINT   start of the first host range
--   $host_end_ns   BIGINT   end of the last one
-- Columns:
--   last_end_ns  BIGINT   end of the last primary-stream op launched before; NULL if none
--   after_ops    BIGINT   primary-stream ops launched after the last host range
SELECT
    -- An op that already runs was launched before, even if the call itself was not recorded.
    max(end_ns) FILTER (WHERE coalesce(at_ns, start_ns) < $host_start_ns) AS last_end_ns,
    count(*) FILTER (WHERE coalesce(at_ns, start_ns) >= $host_end_ns) AS after_ops
FROM lane_launch
WHERE is_primary AND end_ns > start_ns
