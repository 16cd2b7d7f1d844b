-- series_work: device work launched inside each candidate range.
--
-- Question: which candidate do the GPU's kernels belong to, and how evenly?
-- Grain:    one row per candidate series and range that owns device work
-- Needs:    lane_op, host_range_bucket
-- Params:
--   $shift     INTEGER  as host_range_bucket
--   $optimizer INTEGER  place of the class optimizer
-- Columns:
--   series         INTEGER  candidate
--   step           INTEGER  which of its ranges
--   owned_ns       HUGEINT  summed durations of the ops whose launch began inside
--   ops            BIGINT   how many
--   optimizer_ops  BIGINT   those of the optimizer among them
SELECT
    b.series,
    b.step,
    sum(o.end_ns - o.start_ns) AS owned_ns,
    count(*) AS ops,
    count(*) FILTER (WHERE o.class_rank = $optimizer) AS optimizer_ops
FROM lane_op AS o
INNER JOIN host_range_bucket AS b
    ON
        o.launch_start_ns >> $shift = b.slice
        AND o.launch_start_ns >= b.start_ns
        AND o.launch_start_ns < b.end_ns
GROUP BY b.series, b.step
ORDER BY b.series, b.step
