-- series_work: device time launched inside each candidate series.
--
-- Question: which candidate do the GPU's kernels belong to?
-- Grain:    one row per candidate series that owns device work
-- Needs:    lane_op, host_range_bucket
-- Params:
--   $shift INTEGER   as host_range_bucket
-- Columns:
--   series    INTEGER  candidate
--   owned_ns  HUGEINT  summed durations of the ops whose launch began inside one of its ranges
SELECT
    b.series,
    sum(o.end_ns - o.start_ns) AS owned_ns
FROM lane_op AS o
INNER JOIN host_range_bucket AS b
    ON
        o.launch_start_ns >> $shift = b.slice
        AND o.launch_start_ns >= b.start_ns
        AND o.launch_start_ns < b.end_ns
GROUP BY b.series
ORDER BY b.series
