-- first_edge: where the primary stream stood when the first step was asked for.
--
-- Question: when does the first step's window begin?
-- Grain:    one row
-- Needs:    lane_launch
-- Params:
--   $host_start_ns BIGINT   start of the first host range
-- Columns:
--   last_end_ns  BIGINT   end of the last primary-stream op launched before; NULL if none
SELECT max(end_ns) AS last_end_ns
FROM lane_launch
-- An op that already runs was launched before, even if the call itself was not recorded.
WHERE is_primary AND end_ns > start_ns AND coalesce(at_ns, start_ns) < $host_start_ns
