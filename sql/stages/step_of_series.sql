-- step_of_series: the ranges of one series, by time.
--
-- Question: when was the host in each step of the chosen series?
-- Grain:    one row per range
-- Needs:    step_range
-- Params:
--   $source VARCHAR   as step_text
--   $series VARCHAR   as step_text
--   $domain BIGINT    NVTX domain
--   $thread BIGINT    thread
-- Columns:
--   start_ns  BIGINT   host time
--   end_ns    BIGINT   host time, NULL while open
--   number    VARCHAR  first number of the text
SELECT
    start_ns,
    end_ns,
    number
FROM step_range
WHERE
    source = $source
    AND series = $series
    AND domain = $domain
    AND thread IS NOT DISTINCT FROM $thread
ORDER BY start_ns, end_ns, number
