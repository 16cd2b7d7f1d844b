-- gpu_memory: device memory that the process held.
--
-- Question: how much GPU memory is left?
-- Grain:    one row
-- Needs:    memory_event
-- Params:
--   $process BIGINT   the lane's process
--   $device  INTEGER  the lane's device
-- Columns:
--   taken       BIGINT  allocations recorded
--   given       BIGINT  releases recorded
--   timed       BIGINT  events with a time
--   peak_bytes  BIGINT  most held at once, of what was recorded
WITH
_event AS (
    SELECT
        at_ns,
        CASE WHEN operation = 0 THEN bytes ELSE -bytes END AS change,
        operation
    FROM memory_event
    -- Memory kind 2 is the device's; pinned and managed host memory is another matter.
    WHERE process = $process AND device = $device AND (kind IS NULL OR kind IN (2, 3, 5))
),

_held AS (
    SELECT
        *,
        sum(change) OVER (ORDER BY at_ns, change ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS held
    FROM _event
)

SELECT
    count(*) FILTER (WHERE operation = 0) AS taken,
    count(*) FILTER (WHERE operation <> 0) AS given,
    count(*) FILTER (WHERE at_ns > 0) AS timed,
    max(held)::BIGINT AS peak_bytes
FROM _held
