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
        end_ns
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

_until AS (
    SELECT
        start_ns,
        max(end_ns) OVER (
            ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns,
        max(end_ns) OVER (
            ORDER BY start_ns, end_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS until_ns
    FROM _range
),

_island AS (
    SELECT
        start_ns,
        until_ns,
        sum(CASE WHEN start_ns <= before_ns THEN 0 ELSE 1 END) OVER (
            ORDER BY start_ns, until_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS island
    FROM _until
)

SELECT
    min(start_ns) AS start_ns,
    max(until_ns) AS end_ns
FROM _island
GROUP BY island
ORDER BY start_ns
