-- helper_thread: threads on which autograd runs.
--
-- Question: whose launches are backward?
-- Grain:    one row per thread
-- Needs:    thread
-- Columns:
--   thread  BIGINT  thread
SELECT DISTINCT thread
FROM thread
WHERE name LIKE 'pt_autograd%'
ORDER BY thread
