-- queue_depth: how many kernels wait or run when another is launched.
--
-- Question: does the host run ahead of the GPU?
-- Grain:    one row
-- Needs:    owned_op
-- Columns:
--   depth  BIGINT  median number of kernels launched before and not yet over
WITH
_kernel AS (
    SELECT
        launch_start_ns,
        end_ns
    FROM owned_op
    WHERE kind = 'kernel' AND launch_start_ns IS NOT NULL AND end_ns >= launch_start_ns
),

_event AS (
    SELECT
        launch_start_ns AS at_ns,
        1 AS change
    FROM _kernel
    UNION ALL
    SELECT
        end_ns,
        -1
    FROM _kernel
),

_running AS (
    SELECT
        change,
        -- What ends as a launch begins is over; the launched kernel itself does not count.
        sum(change) OVER (
            ORDER BY at_ns, change ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) - 1 AS depth
    FROM _event
)

SELECT median(depth) FILTER (WHERE change = 1)::BIGINT AS depth
FROM _running
