-- nvtx_fault: how many annotations were left out, and why.
--
-- Question: how much of what was recorded cannot be used?
-- Grain:    one row per reason
-- Needs:    _raw_nvtx
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   fault   VARCHAR   no_timestamp or impossible_duration
--   number  BIGINT
SELECT
    range_fault(event_type, start_ns, end_ns, $limit_ns) AS fault,
    count(*) AS number
FROM _raw_nvtx
WHERE range_fault(event_type, start_ns, end_ns, $limit_ns) IS NOT NULL
GROUP BY ALL
