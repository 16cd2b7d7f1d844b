-- asked_call: a thread's CUDA calls near the stretches that are asked about.
--
-- Question: was the thread inside a CUDA call?
-- Grain:    one row per call
-- Needs:    api, asked_slice
-- Params:
--   $thread BIGINT   thread
--   $shift  INTEGER  as asked_slice
-- Columns:
--   start_ns  BIGINT  call
--   end_ns    BIGINT  return
SELECT
    start_ns,
    end_ns
FROM api
WHERE
    thread = $thread
    AND end_ns > start_ns
    AND (
        start_ns >> $shift IN (SELECT slice FROM asked_slice)
        OR (end_ns - 1) >> $shift IN (SELECT slice FROM asked_slice)
        -- A call longer than a slice may reach over one without touching it with either end.
        OR (end_ns - 1) >> $shift > start_ns >> $shift
    )
ORDER BY start_ns, end_ns
