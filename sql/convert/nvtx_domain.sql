-- nvtx_domain: the names of annotation domains, which are per process.
--
-- Question: which library speaks in this domain?
-- Grain:    one row per (process, domain)
-- Needs:    _nvtx, string
-- Params:
-- Columns:
--   process  BIGINT
--   domain   BIGINT
--   name     VARCHAR
SELECT
    process_of(_nvtx.thread) AS process,
    _nvtx.domain,
    min(coalesce(_nvtx.text, string.value)) AS name
FROM _nvtx
LEFT JOIN string ON _nvtx.name_id = string.id
WHERE _nvtx.event_type = 75
GROUP BY process_of(_nvtx.thread), _nvtx.domain
HAVING min(coalesce(_nvtx.text, string.value)) IS NOT NULL
ORDER BY process_of(_nvtx.thread), _nvtx.domain
