-- gpu_metric: sampled counters of the GPUs.
--
-- Question: how fast did the GPU run, and which links were busy?
-- Grain:    one row per (GPU, metric, instant)
-- Needs:    _raw_metric, _metric_name
-- Params:
-- Columns:
--   gpu     BIGINT    number of the GPU, as in table gpu
--   metric  VARCHAR   sm_clock (MHz), nvlink or pcie (percent of the peak, both directions summed)
--   at_ns   BIGINT    end of the interval that the sample stands for
--   value   BIGINT
SELECT
    r.type & 255 AS gpu,
    n.metric,
    r.at_ns,
    (CASE n.metric WHEN 'sm_clock' THEN max(r.value) ELSE sum(greatest(r.value, 0)) END)::BIGINT AS value
FROM _raw_metric AS r
INNER JOIN _metric_name AS n ON r.type = n.type AND r.number = n.number
WHERE r.at_ns IS NOT NULL AND r.value IS NOT NULL
GROUP BY r.type & 255, n.metric, r.at_ns
ORDER BY gpu, n.metric, r.at_ns
