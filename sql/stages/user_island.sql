-- user_island: stretches in which a thread is inside ranges of the user's own.
--
-- Question: does the program say what it was doing?
-- Grain:    one row per stretch
-- Needs:    nvtx, step_text
-- Params:
--   $thread BIGINT   thread
--   $source VARCHAR  source of the steps
--   $series VARCHAR  their pattern
-- Columns:
--   start_ns  BIGINT  first instant
--   end_ns    BIGINT  first instant after
WITH
_range AS (
    SELECT
        start_ns,
        -- The store keeps a thread's ranges by start, so the windows stream and nothing is sorted.
        max(end_ns) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS until_ns
    FROM nvtx
    WHERE
        thread = $thread
        AND kind IN ('push_pop', 'start_end')
        AND end_ns > start_ns
        AND (end_thread IS NULL OR end_thread = thread)
        AND NOT coalesce(framework, FALSE)
        AND name_id NOT IN (
            SELECT name_id FROM step_text
            WHERE source = $source AND series = $series
        )
),

_before AS (
    SELECT
        *,
        lag(until_ns) OVER () AS before_ns
    FROM _range
),

_begin AS (
    SELECT
        start_ns,
        before_ns
    FROM _before
    WHERE before_ns IS NULL OR start_ns > before_ns
)

SELECT
    start_ns,
    coalesce(lead(before_ns) OVER (), (SELECT max(until_ns) FROM _range)) AS end_ns
FROM _begin
