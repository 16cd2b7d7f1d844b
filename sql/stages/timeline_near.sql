-- timeline_near: closed ranges of the launching threads that reach into one stretch of host time.
--
-- Question: which ranges can belong to this step?
-- Grain:    one row per range
-- Needs:    nvtx, timeline_thread
-- Params:
--   $first_ns BIGINT   first instant of the stretch
--   $last_ns  BIGINT   its last
--   $after_ns BIGINT   ranges begun up to here were found in an earlier stretch, NULL for the first
-- Columns:
--   (those of nvtx)
-- Plain comparisons, so that only the row groups near the stretch are read.
SELECT n.*
FROM nvtx AS n
SEMI JOIN timeline_thread AS t ON n.thread = t.thread
WHERE
    n.start_ns <= $last_ns
    AND n.end_ns > $first_ns
    AND n.end_ns > n.start_ns
    AND n.start_ns > coalesce($after_ns, n.start_ns - 1)
    AND n.kind <> 'mark'
    AND (n.end_thread IS NULL OR n.end_thread = n.thread)
