-- nvtx_name: the texts of the process's ranges, numbers written N, as nesting counts them.
--
-- Question: which ranges are the same place in the code?
-- Grain:    one row per text id
-- Needs:    nvtx, string, nvtx_domain
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   name_id  BIGINT   text, -1 without one
--   domain   BIGINT   NVTX domain
--   place    BIGINT   number shared by equal names of domains of one name, from 0
--   name     VARCHAR  the text with every number written N
--   text     VARCHAR  the text as the program wrote it
--   label    VARCHAR  name of the domain, NULL for the default one
WITH
_used AS (
    SELECT DISTINCT
        coalesce(name_id, -1) AS name_id,
        coalesce(domain, 0) AS domain
    FROM nvtx
    WHERE process = $process AND kind <> 'mark'
),

_named AS (
    SELECT
        u.name_id,
        u.domain,
        coalesce(regexp_replace(s.value, '\d+', 'N', 'g'), '(unnamed)') AS name,
        coalesce(s.value, '(unnamed)') AS text,
        d.name AS label
    FROM _used AS u
    LEFT JOIN string AS s ON u.name_id = s.id
    LEFT JOIN nvtx_domain AS d ON d.process = $process AND u.domain = d.domain
)

SELECT
    name_id,
    domain,
    dense_rank() OVER (ORDER BY first_domain, name) - 1 AS place,
    name,
    text,
    label
FROM (
    SELECT
        *,
        -- Every library that asks for a domain gets its own id for it.
        CASE WHEN label IS NULL THEN domain ELSE min(domain) OVER (PARTITION BY label) END AS first_domain
    FROM _named
)
ORDER BY domain, name, name_id
