-- loader_threads: threads whose names say that they prepare batches.
--
-- Question: who loads the data?
-- Grain:    one row per name, the lane's own process and processes without a GPU apart
-- Needs:    thread, lane
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   name   VARCHAR  name of the thread; the system cuts it at 15 characters
--   own    BOOLEAN  in the lane's process; else in one that did no GPU work
--   count  BIGINT   threads
SELECT
    name,
    process = $process AS own,
    count(*) AS count
FROM thread
WHERE
    regexp_matches(name, '(?i)(pt_data|data_?loader|data_?worker|data_?pin|prefetch|tf_data|\bdali)')
    -- Loaders of another rank in this file are not this one's.
    AND (process = $process OR process NOT IN (SELECT process FROM lane))
GROUP BY name, own
ORDER BY own DESC, name
