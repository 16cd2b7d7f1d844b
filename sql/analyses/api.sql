-- api: the kept steps' CUDA calls by name.
--
-- Question: which CUDA calls does the host spend its time in?
-- Grain:    one row per name, the costliest first
-- Needs:    owned_api, string
-- Params:
--   $most INTEGER   names listed
-- Columns:
--   name       VARCHAR  name without the ABI suffix of the runtime
--   count      BIGINT   calls
--   total_ns   BIGINT   summed durations over all threads: not wall time
--   median_ns  BIGINT   middle duration, the middle two averaged
--   min_ns     BIGINT   shortest
--   max_ns     BIGINT   longest
--   total      BIGINT   how many names there are
WITH
_name AS (
    SELECT
        id,
        CASE
            WHEN value LIKE 'cuda%' THEN regexp_replace(value, '(_pt[sd][zs])?_v\d{4,5}$', '')
            ELSE value
        END AS name
    FROM string
)

SELECT
    coalesce(n.name, '(unnamed)') AS name,
    count(*) AS count,
    sum(a.end_ns - a.start_ns)::BIGINT AS total_ns,
    round_even(median(a.end_ns - a.start_ns), 0)::BIGINT AS median_ns,
    min(a.end_ns - a.start_ns) AS min_ns,
    max(a.end_ns - a.start_ns) AS max_ns,
    count(*) OVER () AS total
FROM owned_api AS a
LEFT JOIN _name AS n ON a.name_id = n.id
GROUP BY n.name
ORDER BY total_ns DESC, name
LIMIT $most
