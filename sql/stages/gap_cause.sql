-- gap_cause: every idle instant of the kept steps under one cause.
--
-- Question: why was the GPU idle?
-- Grain:    one row per gap and cause
-- Needs:    gap_cut, host_claim, cause, queued_part
-- Columns:
--   gap    BIGINT   as gap
--   step   INTEGER  as gap
--   cause  VARCHAR  cause
--   ns     BIGINT   idle time; the causes of a gap sum to its length
--   place  BIGINT   1 for the largest part of the gap
WITH
_claim AS (
    SELECT
        h.gap,
        h.place,
        sum(h.end_ns - h.start_ns)::BIGINT AS ns,
        coalesce(sum(h.end_ns - h.start_ns) FILTER (WHERE h.start_ns >= g.host_until_ns), 0)::BIGINT
            AS call_ns
    FROM host_claim AS h
    INNER JOIN gap_cut AS g ON h.gap = g.gap
    GROUP BY h.gap, h.place
),

_called AS (
    SELECT
        gap,
        sum(call_ns) AS ns
    FROM _claim
    GROUP BY gap
),

_part AS (
    SELECT
        c.gap,
        g.step,
        n.cause,
        c.ns
    FROM _claim AS c
    INNER JOIN gap_cut AS g ON c.gap = g.gap
    INNER JOIN cause AS n ON c.place = n.place
    UNION ALL
    SELECT
        g.gap,
        g.step,
        CASE WHEN g.same_graph THEN 'graph_internal_gap' ELSE 'launch_latency' END,
        g.launch_until_ns - g.host_until_ns - coalesce(c.ns, 0)
    FROM gap_cut AS g
    LEFT JOIN _called AS c ON g.gap = c.gap
    UNION ALL
    SELECT
        gap,
        step,
        cause,
        end_ns - start_ns
    FROM queued_part
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
