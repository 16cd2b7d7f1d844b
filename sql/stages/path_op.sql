-- path_op: which of the attributed ops had the lane to themselves.
--
-- Question: where do summed durations and time differ?
-- Grain:    one row per op
-- Needs:    path_launch
-- Columns:
--   path      BIGINT   path of the innermost range
--   start_ns  BIGINT   device start
--   end_ns    BIGINT   device end
--   crowded   BOOLEAN  another attributed op ran at the same time
WITH
_until AS (
    SELECT
        *,
        max(end_ns) OVER (ORDER BY start_ns, end_ns, path ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
            AS before_ns,
        lead(start_ns) OVER (ORDER BY start_ns, end_ns, path) AS next_ns
    FROM path_launch
)

SELECT
    path,
    start_ns,
    end_ns,
    coalesce(before_ns > start_ns, FALSE) OR coalesce(next_ns < end_ns, FALSE) AS crowded
FROM _until
