-- gap: when the whole lane was idle, cut at the edges of the kept windows.
--
-- Question: when did nothing run on this GPU?
-- Grain:    one row per gap and kept window it reaches into
-- Needs:    coverage, window_bucket, segment
-- Params:
--   $shift        INTEGER  as window_bucket
--   $span_start   BIGINT   first device start of the lane
--   $span_end     BIGINT   last device end of the lane
--   $first_start  BIGINT   start of the first segment
--   $last_end     BIGINT   end of the last segment
-- Columns:
--   gap            BIGINT   number, by time
--   segment        INTEGER  window
--   step           INTEGER  step of that window
--   start_ns       BIGINT   first idle instant inside the window
--   end_ns         BIGINT   first instant after
--   idle_start_ns  BIGINT   where the whole idle stretch begins, windows apart
--   idle_end_ns    BIGINT   where it ends
WITH
_idle AS (
    SELECT
        all_before_ns AS start_ns,
        start_ns AS end_ns
    FROM coverage
    WHERE start_ns > all_before_ns
    UNION ALL
    -- A window that the user set may reach beyond the device's first and last op.
    SELECT
        $first_start,
        $span_start
    WHERE $first_start < $span_start
    UNION ALL
    SELECT
        $span_end,
        $last_end
    WHERE $last_end > $span_end
),

_begun AS (
    SELECT
        i.start_ns,
        i.end_ns,
        b.segment,
        b.end_ns AS segment_end_ns
    FROM _idle AS i
    INNER JOIN window_bucket AS b
        ON i.start_ns >> $shift = b.slice AND i.start_ns >= b.start_ns AND i.start_ns < b.end_ns
),

_piece AS (
    SELECT
        segment,
        start_ns,
        least(end_ns, segment_end_ns) AS end_ns,
        start_ns AS idle_start_ns,
        end_ns AS idle_end_ns
    FROM _begun
    UNION ALL
    SELECT
        s.segment,
        s.start_ns,
        least(g.end_ns, s.end_ns) AS end_ns,
        g.start_ns AS idle_start_ns,
        g.end_ns AS idle_end_ns
    FROM _begun AS g
    INNER JOIN segment AS s ON s.start_ns >= g.segment_end_ns AND s.start_ns < g.end_ns
    WHERE g.end_ns > g.segment_end_ns
)

SELECT
    row_number() OVER (ORDER BY p.start_ns) AS gap,
    p.segment,
    s.step,
    p.start_ns,
    p.end_ns,
    p.idle_start_ns,
    p.idle_end_ns
FROM _piece AS p
INNER JOIN segment AS s ON p.segment = s.segment
WHERE s.kept AND p.end_ns > p.start_ns
ORDER BY p.start_ns
