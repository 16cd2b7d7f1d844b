-- gpu_sample: the sampled counters of the lane's GPU.
--
-- Question: what was sampled on this GPU?
-- Grain:    one row per (metric, instant)
-- Needs:    gpu_metric, gpu, cuda_device, lane
-- Params:
--   $lane INTEGER   the lane's number in its trace
-- Columns:
--   metric  VARCHAR  sm_clock, nvlink or pcie
--   at_ns   BIGINT   end of the interval that the sample stands for
--   value   BIGINT   MHz, or percent
WITH
-- The same order of trust as for the GPU that the page shows.
_told AS (
    SELECT
        1 AS trust,
        d.gpu_id AS gpu
    FROM lane AS l
    INNER JOIN cuda_device AS d ON l.pid = d.pid AND l.device = d.cuda_id
    WHERE l.lane = $lane
    UNION ALL
    SELECT
        2 AS trust,
        max(id) AS gpu
    FROM gpu
    WHERE nvidia
    HAVING count(DISTINCT id) = 1
    UNION ALL
    SELECT
        3 AS trust,
        g.id AS gpu
    FROM lane AS l
    INNER JOIN gpu AS g ON l.device = g.cuda_device
    WHERE l.lane = $lane AND g.nvidia
),

_gpu AS (
    SELECT max(gpu) AS gpu
    FROM _told
    GROUP BY trust
    HAVING count(DISTINCT gpu) = 1
    ORDER BY trust
    LIMIT 1
)

SELECT
    m.metric,
    m.at_ns,
    m.value
FROM gpu_metric AS m
INNER JOIN _gpu AS g ON m.gpu = g.gpu
ORDER BY m.metric, m.at_ns
