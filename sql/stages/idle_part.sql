-- idle_part: the stretches of idle time that the host did not claim, by cause.
--
-- Question: what held an op that the host had asked for?
-- Grain:    one row per stretch
-- Needs:    gap, queued_part
-- Params:
--   $causes VARCHAR[]  names of causes
-- Columns:
--   start_ns  BIGINT   first idle instant
--   end_ns    BIGINT   first instant after
--   cause     INTEGER  cause, as gap_part gives it, by its place in $causes, from 1
-- Claims on the launching call come off. Rows come as they may.
SELECT
    host_until_ns AS start_ns,
    launch_until_ns AS end_ns,
    CASE
        WHEN same_graph THEN list_position($causes, 'graph_internal_gap')
        ELSE list_position($causes, 'launch_latency')
    END AS cause
FROM gap
WHERE launch_until_ns > host_until_ns
UNION ALL
SELECT
    start_ns,
    end_ns,
    list_position($causes, cause) AS cause
FROM queued_part
