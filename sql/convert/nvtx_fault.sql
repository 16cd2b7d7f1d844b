-- nvtx_fault: how many ranges were left out or never closed.
--
-- Question: how much of the annotations cannot be used?
-- Grain:    one row per reason
-- Needs:    _nvtx
-- Params:
-- Columns:
--   fault   VARCHAR   no_timestamp, impossible_duration or open_ranges
--   number  BIGINT
SELECT
    coalesce(fault, 'open_ranges') AS fault,
    count(*) AS number
FROM _nvtx
WHERE event_type IN (59, 60, 70, 71) AND (fault IS NOT NULL OR open)
GROUP BY ALL
