-- timeline_op: the device work that reaches into one window of the timeline, cut at its edges.
--
-- Question: what ran on this GPU in that time?
-- Grain:    one row per op
-- Needs:    lane_op
-- Params:
--   $from_ns BIGINT   start of the window
--   $to_ns   BIGINT   its end
-- Columns:
--   (those of lane_op, and)
--   from_ns   BIGINT  first instant inside the window
--   until_ns  BIGINT  first instant after
-- Both edges are plain comparisons, so that only the row groups of the window are read.
SELECT
    *,
    greatest(start_ns, $from_ns) AS from_ns,
    least(end_ns, $to_ns) AS until_ns
FROM lane_op
WHERE
    start_ns < $to_ns
    AND end_ns >= $from_ns
    AND (end_ns > $from_ns OR start_ns = end_ns)
