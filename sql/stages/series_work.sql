-- series_work: device work launched, or begun, inside each candidate range.
--
-- Question: which candidate do the GPU's kernels belong to, and how evenly?
-- Grain:    one row per candidate series and range that owns device work
-- Needs:    lane_op, host_range_bucket
-- Params:
--   $shift     INTEGER  as host_range_bucket
--   $by_start  BOOLEAN  by the start on the device, as no launch was recorded
--   $optimizer INTEGER  place of the class optimizer
-- Columns:
--   series         INTEGER  candidate
--   step           INTEGER  which of its ranges
--   owned_ns       HUGEINT  summed durations of the ops that were asked for inside
--   ops            BIGINT   how many
--   optimizer_ops  BIGINT   those of the optimizer among them
WITH
_op AS (
    SELECT
        CASE WHEN $by_start THEN start_ns ELSE launch_start_ns END AS at_ns,
        end_ns - start_ns AS work_ns,
        class_rank
    FROM lane_op
)

SELECT
    b.series,
    b.step,
    sum(o.work_ns) AS owned_ns,
    count(*) AS ops,
    count(*) FILTER (WHERE o.class_rank = $optimizer) AS optimizer_ops
FROM _op AS o
INNER JOIN host_range_bucket AS b
    ON o.at_ns >> $shift = b.slice AND o.at_ns >= b.start_ns AND o.at_ns < b.end_ns
GROUP BY b.series, b.step
ORDER BY b.series, b.step
