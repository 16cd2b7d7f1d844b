-- thread: threads and their names.
--
-- Question: what is a thread called?
-- Grain:    one row per named thread
-- Needs:    _raw_thread, string
-- Params:
-- Columns:
--   process  BIGINT
--   thread   BIGINT
--   tid      BIGINT
--   name     VARCHAR
SELECT
    process_of(_raw_thread.thread) AS process,
    _raw_thread.thread,
    _raw_thread.thread & 16777215 AS tid,
    -- A thread renamed while it ran has several rows; which is the last is not recorded.
    min(string.value) AS name
FROM _raw_thread
LEFT JOIN string ON _raw_thread.name_id = string.id
WHERE _raw_thread.thread IS NOT NULL
GROUP BY _raw_thread.thread
ORDER BY _raw_thread.thread
