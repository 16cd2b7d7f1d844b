-- stream_union: how long one stream was busy, each instant counted once.
--
-- Question: how long did this stream compute?
-- Grain:    one row
-- Needs:    lane_op
-- Params:
--   $context BIGINT   CUDA context
--   $stream  BIGINT   CUDA stream
--   $compute BOOLEAN  only compute kernels and graph rows
-- Columns:
--   busy_ns  HUGEINT  union of the durations
WITH
_until AS (
    SELECT
        start_ns,
        -- Rows come by start (lane_span checks it), so no sort is paid for.
        max(end_ns) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS until_ns
    FROM lane_op
    WHERE
        context IS NOT DISTINCT FROM $context
        AND stream IS NOT DISTINCT FROM $stream
        AND (NOT $compute OR is_compute OR is_graph)
),

_before AS (
    SELECT
        *,
        lag(until_ns) OVER () AS before_ns
    FROM _until
)

SELECT coalesce(sum(newly_covered(until_ns, before_ns, start_ns)), 0) AS busy_ns
FROM _before
