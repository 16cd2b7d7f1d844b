-- sched: when the threads of the traced processes got a core and lost it.
--
-- Question: when was a thread on a CPU, and why was it taken off?
-- Grain:    one row per change
-- Needs:    _raw_sched, _raw_state, _raw_block
-- Params:
-- Columns:
--   process  BIGINT
--   thread   BIGINT
--   at_ns    BIGINT
--   on_cpu   BOOLEAN   it runs from here on
--   cpu      INTEGER
--   state    VARCHAR   state in which it was left, NULL if not recorded
--   block    VARCHAR   what it waits for, NULL if not recorded
WITH
-- The numbers behind the names are not documented, so only the export's own list is believed.
_state AS (
    SELECT
        id,
        nullif(min(name), 'Unknown') AS name
    FROM _raw_state
    GROUP BY id
),

_block AS (
    SELECT
        id,
        -- The first of the list stands where nothing was recorded as well.
        CASE WHEN min(name) NOT IN ('Unknown', 'NonBlocked') THEN min(name) END AS name
    FROM _raw_block
    GROUP BY id
)

SELECT
    process_of(s.thread) AS process,
    s.thread,
    s.at_ns,
    s.on_cpu <> 0 AS on_cpu,
    try_cast(s.cpu AS INTEGER) AS cpu,
    t.name AS state,
    b.name AS block
FROM _raw_sched AS s
LEFT JOIN _state AS t ON s.state = t.id
LEFT JOIN _block AS b ON s.block = b.id
WHERE s.thread IS NOT NULL AND s.at_ns IS NOT NULL AND s.on_cpu IS NOT NULL
ORDER BY s.thread, s.at_ns, on_cpu, s.cpu, state, block
