-- process: processes and their names.
--
-- Question: what is a process called?
-- Grain:    one row per process that is named or has a lane
-- Needs:    _raw_process, lane
-- Params:
-- Columns:
--   process  BIGINT
--   pid      BIGINT
--   name     VARCHAR
WITH
_seen AS (
    SELECT
        process_of(process_id) AS process,
        name
    FROM _raw_process
    WHERE process_id IS NOT NULL
    UNION ALL
    SELECT
        process,
        NULL AS name
    FROM lane
)

SELECT
    process,
    pid_of(process) AS pid,
    min(name) AS name
FROM _seen
GROUP BY process
ORDER BY process
