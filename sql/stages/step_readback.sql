-- step_readback: copies to the host that the host waited for, such as a loss that is logged.
--
-- Question: when did the host read a result?
-- Grain:    one row per copy
-- Needs:    lane_op, api, string
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   at_ns     BIGINT   launching call
--   start_ns  BIGINT   device start
--   end_ns    BIGINT   device end
WITH
_name AS (
    SELECT
        id AS name_id,
        regexp_matches(value, '^cu(da)?(Stream|Device|Event|Ctx)Synchronize') AS waits,
        regexp_matches(value, '^cu(da)?Memcpy') AND NOT contains(value, 'Async') AS copies
    FROM string
    WHERE value LIKE 'cu%'
),

_wait AS (
    SELECT
        a.thread,
        a.start_ns
    FROM api AS a
    INNER JOIN _name AS n ON a.name_id = n.name_id
    WHERE a.process = $process AND n.waits
)

SELECT
    o.launch_start_ns AS at_ns,
    o.start_ns,
    o.end_ns
FROM lane_op AS o
LEFT JOIN _name AS n ON o.launch_name_id = n.name_id
ASOF LEFT JOIN _wait AS w ON o.launch_thread = w.thread AND o.launch_end_ns <= w.start_ns
WHERE
    o.kind = 'memcpy'
    AND o.copy_kind = 2
    AND o.end_ns > o.start_ns
    -- A wait that follows at once is for this copy.
    AND (n.copies OR w.start_ns - o.launch_end_ns <= 50000)
ORDER BY at_ns, o.start_ns, o.end_ns
