-- op_fault: how much device work was left out, and why.
--
-- Question: how much of what was recorded cannot be used?
-- Grain:    one row per reason
-- Needs:    _op
-- Params:
-- Columns:
--   fault   VARCHAR   no_timestamp or impossible_duration
--   number  BIGINT
SELECT
    fault,
    count(*) AS number
FROM _op
WHERE fault IS NOT NULL
GROUP BY fault
