-- gap_cause: every idle instant of the kept steps under one cause.
--
-- Question: why was the GPU idle?
-- Grain:    one row per gap and cause
-- Needs:    gap_cut, sync_claim
-- Params:
--   $micro_ns BIGINT   queued gaps below this are the device's own turn-around
-- Columns:
--   gap    BIGINT   as gap
--   step   INTEGER  as gap
--   cause  VARCHAR  cause
--   ns     BIGINT   idle time; the causes of a gap sum to its length
--   place  BIGINT   1 for the largest part of the gap
WITH
_sync AS (
    SELECT
        gap,
        step,
        'host_sync' AS cause,
        sum(end_ns - start_ns)::BIGINT AS ns
    FROM sync_claim
    GROUP BY gap, step
),

_part AS (
    SELECT * FROM _sync
    UNION ALL
    SELECT
        g.gap,
        g.step,
        'idle_unattributed',
        g.host_until_ns - g.start_ns - coalesce(s.ns, 0)
    FROM gap_cut AS g
    LEFT JOIN _sync AS s ON g.gap = s.gap
    UNION ALL
    SELECT
        gap,
        step,
        CASE WHEN same_graph THEN 'graph_internal_gap' ELSE 'launch_latency' END,
        launch_until_ns - host_until_ns
    FROM gap_cut
    UNION ALL
    SELECT
        gap,
        step,
        CASE
            WHEN same_graph THEN 'graph_internal_gap'
            WHEN queued_ns < $micro_ns THEN 'micro_gap'
            ELSE 'queued_unexplained'
        END,
        end_ns - launch_until_ns
    FROM gap_cut
),

_cause AS (
    SELECT
        gap,
        step,
        cause,
        sum(ns)::BIGINT AS ns
    FROM _part
    WHERE ns <> 0
    GROUP BY gap, step, cause
)

SELECT
    *,
    row_number() OVER (PARTITION BY gap ORDER BY ns DESC, cause) AS place
FROM _cause
ORDER BY gap, place
