-- lane_metric: what the sampled counters of the lane's GPU show in the kept steps.
--
-- Question: how fast did the GPU run, and how busy are its links without communication?
-- Grain:    one row per metric
-- Needs:    gpu_sample, comm_op, segment
-- Params:
-- Columns:
--   metric   VARCHAR  sm_clock, nvlink or pcie
--   samples  BIGINT   how many
--   mean     BIGINT   kHz or hundredths of a percent; of links outside of communication
--   median   BIGINT   the same
WITH
_kept AS (
    SELECT s.*
    FROM gpu_sample AS s
    ASOF INNER JOIN segment AS g ON s.at_ns >= g.start_ns
    WHERE g.kept AND s.at_ns < g.end_ns
),

_during AS (
    SELECT
        s.metric,
        s.at_ns
    FROM _kept AS s
    ASOF INNER JOIN comm_op AS o ON s.at_ns >= o.start_ns
    WHERE s.at_ns < o.end_ns
)

SELECT
    s.metric,
    count(*) AS samples,
    round(avg(s.value) * CASE s.metric WHEN 'sm_clock' THEN 1000 ELSE 100 END)::BIGINT AS mean,
    round(median(s.value) * CASE s.metric WHEN 'sm_clock' THEN 1000 ELSE 100 END)::BIGINT AS median
FROM _kept AS s
ANTI JOIN _during AS d ON s.metric = d.metric AND s.at_ns = d.at_ns AND s.metric <> 'sm_clock'
GROUP BY s.metric
ORDER BY s.metric
