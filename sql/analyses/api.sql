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
),

_counted AS (
    SELECT
        name_id,
        end_ns - start_ns AS dur_ns,
        count(*) AS count
    FROM owned_api
    GROUP BY name_id, dur_ns
),

_named AS (
    SELECT
        coalesce(n.name, '(unnamed)') AS name,
        c.dur_ns,
        sum(c.count)::BIGINT AS count
    FROM _counted AS c
    LEFT JOIN _name AS n ON c.name_id = n.id
    GROUP BY ALL
),

_upto AS (
    SELECT
        *,
        sum(count) OVER (PARTITION BY name ORDER BY dur_ns)::BIGINT AS upto,
        sum(count) OVER (PARTITION BY name)::BIGINT AS whole
    FROM _named
)

SELECT
    name,
    any_value(whole) AS count,
    sum(dur_ns * count)::BIGINT AS total_ns,
    middle_of(dur_ns, upto, whole) AS median_ns,
    min(dur_ns) AS min_ns,
    max(dur_ns) AS max_ns,
    count(*) OVER () AS total
FROM _upto
GROUP BY name
ORDER BY total_ns DESC, name
LIMIT $most
