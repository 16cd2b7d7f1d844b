-- lane: one GPU as used by one process.
--
-- Question: which processes worked on which devices?
-- Grain:    one row per lane
-- Needs:    _op
-- Params:
-- Columns:
--   lane     INTEGER
--   process  BIGINT
--   pid      BIGINT
--   device   INTEGER
WITH
_place AS (
    SELECT DISTINCT
        process,
        device
    FROM _op
    WHERE fault IS NULL
)

SELECT
    (row_number() OVER (ORDER BY pid_of(process), process, device) - 1)::INTEGER AS lane,
    process,
    pid_of(process) AS pid,
    device
FROM _place
