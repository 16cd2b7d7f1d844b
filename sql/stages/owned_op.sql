-- owned_op: the ops that the kept steps asked for.
--
-- Question: which kernels and copies are a step's own, wherever they ran?
-- Grain:    one row per op
-- Needs:    lane_op, host_range_bucket, window_bucket, segment
-- Params:
--   $shift    INTEGER  as host_range_bucket
--   $whole      BOOLEAN  the window is the whole capture: it owns everything
--   $by_start BOOLEAN  no launch or no host range to go by: the device start decides
-- Columns:
--   (those of lane_op, and)
--   step      INTEGER  position of the owning step among the kept ones
SELECT
    o.*,
    coalesce(h.step, s.step) AS step
FROM lane_op AS o
LEFT JOIN host_range_bucket AS h
    ON
        NOT $by_start
        AND o.launch_start_ns >> $shift = h.slice
        AND o.launch_start_ns >= h.start_ns
        AND o.launch_start_ns < h.end_ns
LEFT JOIN window_bucket AS w
    ON
        CASE WHEN $by_start OR o.launch_start_ns IS NULL THEN o.start_ns END >> $shift = w.slice
        AND o.start_ns >= w.start_ns
        AND o.start_ns < w.end_ns
LEFT JOIN segment AS s ON w.segment = s.segment AND s.kept
WHERE $whole OR h.step IS NOT NULL OR s.step IS NOT NULL
