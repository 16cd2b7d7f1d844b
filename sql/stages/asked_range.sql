-- asked_range: the user's ranges of a thread that begin in the stretches asked about.
--
-- Question: did the program begin something of its own there?
-- Grain:    one row per range
-- Needs:    nvtx, asked_slice, step_text
-- Params:
--   $thread BIGINT   thread
--   $shift  INTEGER  as asked_slice
--   $source VARCHAR  source of the steps
--   $series VARCHAR  their pattern
-- Columns:
--   start_ns  BIGINT  push
--   end_ns    BIGINT  pop; far in the future while open
SELECT
    start_ns,
    coalesce(end_ns, 9000000000000000000) AS end_ns
FROM nvtx
WHERE
    thread = $thread
    AND kind IN ('push_pop', 'start_end')
    AND NOT coalesce(framework, FALSE)
    AND name_id NOT IN (
        SELECT name_id FROM step_text
        WHERE source = $source AND series = $series
    )
    AND start_ns >> $shift IN (SELECT slice FROM asked_slice)
ORDER BY start_ns, end_ns
