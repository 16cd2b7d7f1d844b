-- loose_thread: threads that launch or wait.
--
-- Question: on which threads is a place in the code asked for?
-- Grain:    one row per thread
-- Needs:    owned_op, blocking_call
-- Columns:
--   thread  BIGINT  thread
SELECT launch_thread AS thread
FROM owned_op
WHERE launch_thread IS NOT NULL
UNION
SELECT thread
FROM blocking_call
ORDER BY thread
