-- idle_part: the stretches of idle time that the host did not claim, by cause.
--
-- Question: what held an op that the host had asked for?
-- Grain:    one row per stretch
-- Needs:    gap, queued_part
-- Columns:
--   start_ns  BIGINT   first idle instant
--   end_ns    BIGINT   first instant after
--   cause     VARCHAR  cause, as gap_part gives it; claims on the launching call come off
SELECT
    host_until_ns AS start_ns,
    launch_until_ns AS end_ns,
    CASE WHEN same_graph THEN 'graph_internal_gap' ELSE 'launch_latency' END AS cause
FROM gap
WHERE launch_until_ns > host_until_ns
UNION ALL
SELECT
    start_ns,
    end_ns,
    cause
FROM queued_part
ORDER BY start_ns
