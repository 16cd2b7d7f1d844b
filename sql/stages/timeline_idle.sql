-- timeline_idle: every idle instant of one step under its cause.
--
-- Question: why was the GPU idle, and when exactly?
-- Grain:    one row per part of a gap
-- Needs:    gap, host_claim, cause, queued_part, timeline_row
-- Params:
--   $step      INTEGER  the step
--   $most      INTEGER  parts that are never merged, of the longest gaps
--   $least_ns  BIGINT   shortest gap of which that holds
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  cause
--   name        BIGINT   NULL
--   start_ns    BIGINT   first instant
--   end_ns      BIGINT   first instant after
--   n           BIGINT   1
--   covered_ns  BIGINT   length
--   whole       BOOLEAN  it is never merged
WITH
_gap AS (
    SELECT *
    FROM gap
    WHERE step = $step
),

_claim AS (
    SELECT
        h.gap,
        c.cause,
        h.start_ns,
        h.end_ns
    FROM host_claim AS h
    INNER JOIN _gap AS g ON h.gap = g.gap
    INNER JOIN cause AS c ON h.place = c.place
    WHERE h.end_ns > h.start_ns
),

-- What the launching call holds besides launching was claimed; the rest is launching.
_called AS (
    SELECT
        c.gap,
        c.start_ns,
        c.end_ns
    FROM _claim AS c
    INNER JOIN _gap AS g ON c.gap = g.gap
    WHERE c.start_ns >= g.host_until_ns
),

_launch AS (
    SELECT
        c.gap,
        coalesce(
            lag(c.end_ns) OVER (PARTITION BY c.gap ORDER BY c.start_ns), g.host_until_ns
        ) AS start_ns,
        c.start_ns AS end_ns
    FROM _called AS c
    INNER JOIN _gap AS g ON c.gap = g.gap
    UNION ALL
    SELECT
        g.gap,
        coalesce(max(c.end_ns), any_value(g.host_until_ns)),
        any_value(g.launch_until_ns)
    FROM _gap AS g
    LEFT JOIN _called AS c ON g.gap = c.gap
    GROUP BY g.gap
),

_part AS (
    SELECT
        gap,
        cause,
        start_ns,
        end_ns
    FROM _claim
    UNION ALL
    SELECT
        l.gap,
        CASE WHEN g.same_graph THEN 'graph_internal_gap' ELSE 'launch_latency' END,
        l.start_ns,
        l.end_ns
    FROM _launch AS l
    INNER JOIN _gap AS g ON l.gap = g.gap
    UNION ALL
    SELECT
        gap,
        cause,
        start_ns,
        end_ns
    FROM queued_part
    WHERE step = $step
),

-- Only parts of long gaps are ranked: short ones can be millions.
_ranked AS (
    SELECT
        p.*,
        row_number() OVER (ORDER BY g.end_ns - g.start_ns DESC, p.start_ns) <= $most AS whole
    FROM _part AS p
    INNER JOIN _gap AS g ON p.gap = g.gap
    WHERE g.end_ns - g.start_ns >= $least_ns AND p.end_ns > p.start_ns
    UNION ALL
    SELECT
        p.*,
        FALSE
    FROM _part AS p
    INNER JOIN _gap AS g ON p.gap = g.gap
    WHERE g.end_ns - g.start_ns < $least_ns AND p.end_ns > p.start_ns
)

SELECT
    r.row,
    p.cause AS class,
    NULL::BIGINT AS name,
    p.start_ns,
    p.end_ns,
    1 AS n,
    p.end_ns - p.start_ns AS covered_ns,
    p.whole
FROM _ranked AS p
INNER JOIN timeline_row AS r ON r.kind = 'idle'
