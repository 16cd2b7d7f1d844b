-- coverage: running unions of the device's states, one row per op.
--
-- Question: up to when was each kind of work covered once this op had begun?
-- Grain:    one row per op with a duration
-- Needs:    lane_op
-- Columns:
--   start_ns      BIGINT   device start
--   all_ns        BIGINT   end of everything begun so far
--   c_ns          BIGINT   the same for compute kernels
--   cg_ns         BIGINT   compute kernels and opaque graphs
--   cgn_ns        BIGINT   those and communication
--   n_ns          BIGINT   communication
--   cn_ns         BIGINT   compute kernels and communication
--   all_before_ns, c_before_ns, cg_before_ns, cgn_before_ns, n_before_ns, cn_before_ns BIGINT
--                          the same one row earlier
WITH
_until AS (
    SELECT
        start_ns,
        -- Rows come by start (lane_span checks it), so the windows stream and nothing is sorted.
        max(end_ns) OVER _so_far AS all_ns,
        max(CASE WHEN is_compute THEN end_ns END) OVER _so_far AS c_ns,
        max(CASE WHEN is_compute OR is_graph THEN end_ns END) OVER _so_far AS cg_ns,
        max(CASE WHEN NOT is_copy THEN end_ns END) OVER _so_far AS cgn_ns,
        max(CASE WHEN comm THEN end_ns END) OVER _so_far AS n_ns,
        max(CASE WHEN is_compute OR comm THEN end_ns END) OVER _so_far AS cn_ns
    FROM lane_op
    WHERE end_ns > start_ns
    WINDOW _so_far AS (ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
)

SELECT
    *,
    lag(all_ns) OVER () AS all_before_ns,
    lag(c_ns) OVER () AS c_before_ns,
    lag(cg_ns) OVER () AS cg_before_ns,
    lag(cgn_ns) OVER () AS cgn_before_ns,
    lag(n_ns) OVER () AS n_before_ns,
    lag(cn_ns) OVER () AS cn_before_ns
FROM _until
