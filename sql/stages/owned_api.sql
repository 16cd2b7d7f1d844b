-- owned_api: the calls that began inside a kept step's host range.
--
-- Question: which of the process's calls are a step's own?
-- Grain:    one row per call
-- Needs:    api, host_range_bucket
-- Params:
--   $shift    INTEGER  as host_range_bucket
--   $whole      BOOLEAN  the window is the whole capture: it owns everything
--   $process  BIGINT   the lane's process
-- Columns:
--   (those of api)
SELECT a.*
FROM api AS a
LEFT JOIN host_range_bucket AS h
    ON a.start_ns >> $shift = h.slice AND a.start_ns >= h.start_ns AND a.start_ns < h.end_ns
WHERE a.process = $process AND ($whole OR h.step IS NOT NULL)
