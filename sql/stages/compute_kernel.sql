-- compute_kernel: compute kernels, and whether each had the lane's compute to itself.
--
-- Question: which kernels ran beside others?
-- Grain:    one row per compute kernel with a duration
-- Needs:    lane_op
-- Columns:
--   start_ns    BIGINT    device start
--   end_ns      BIGINT    device end
--   place       UTINYINT  its class, by the claiming order
--   alone       BOOLEAN   no other compute kernel ran at the same time
WITH
_until AS (
    SELECT
        start_ns,
        end_ns,
        class_rank AS place,
        max(end_ns) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS until_ns
    FROM lane_op
    WHERE is_compute AND end_ns > start_ns
)

SELECT
    start_ns,
    end_ns,
    place,
    coalesce(lag(until_ns) OVER () <= start_ns, TRUE)
    AND coalesce(lead(start_ns) OVER () >= end_ns, TRUE) AS alone
FROM _until
