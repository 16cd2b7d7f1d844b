-- compute_begin: where the lane starts to compute after not computing, and who asked for it.
--
-- Question: which kernel was the next to run?
-- Grain:    one row per stretch of compute
-- Needs:    lane_op
-- Columns:
--   start_ns         BIGINT  start of the kernel
--   launch_start_ns  BIGINT  start of its launching call; NULL if not recorded
--   thread           BIGINT  thread of that call; -1 if not recorded
WITH
_until AS (
    SELECT
        start_ns,
        launch_start_ns,
        launch_thread,
        max(end_ns) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS until_ns
    FROM lane_op
    WHERE is_compute AND end_ns > start_ns
),

_before AS (
    SELECT
        *,
        lag(until_ns) OVER () AS before_ns
    FROM _until
)

SELECT
    start_ns,
    launch_start_ns,
    coalesce(launch_thread, -1) AS thread
FROM _before
WHERE before_ns IS NULL OR start_ns > before_ns
ORDER BY start_ns
