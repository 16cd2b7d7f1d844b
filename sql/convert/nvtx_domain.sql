-- nvtx_domain: the names of annotation domains, which are per process.
--
-- Question: which library speaks in this domain?
-- Grain:    one row per (process, domain)
-- Needs:    _nvtx_other, string
-- Params:
-- Columns:
--   process  BIGINT
--   domain   BIGINT
--   name     VARCHAR
SELECT
    process_of(_nvtx_other.thread) AS process,
    coalesce(_nvtx_other.domain, 0) AS domain,
    min(coalesce(_nvtx_other.text, string.value)) AS name
FROM _nvtx_other
LEFT JOIN string ON _nvtx_other.text_id = string.id
WHERE _nvtx_other.event_type = 75
GROUP BY process_of(_nvtx_other.thread), coalesce(_nvtx_other.domain, 0)
HAVING min(coalesce(_nvtx_other.text, string.value)) IS NOT NULL
ORDER BY process_of(_nvtx_other.thread), coalesce(_nvtx_other.domain, 0)
