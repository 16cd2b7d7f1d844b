-- nvtx_thread: threads of the process that annotate, and whether they launch.
--
-- Question: on which threads are there ranges?
-- Grain:    one row per thread
-- Needs:    nvtx, lane_op, thread
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   thread    BIGINT   thread
--   launches  BOOLEAN  device work of this lane was asked for on it
--   helper    BOOLEAN  autograd runs on it
WITH
_launching AS (
    SELECT DISTINCT launch_thread
    FROM lane_op
    WHERE launch_thread IS NOT NULL
),

_helper AS (
    SELECT DISTINCT thread
    FROM thread
    WHERE name LIKE 'pt_autograd%'
)

SELECT
    n.thread,
    bool_or(l.launch_thread IS NOT NULL) AS launches,
    bool_or(h.thread IS NOT NULL) AS helper
FROM (SELECT DISTINCT thread FROM nvtx WHERE process = $process AND kind <> 'mark') AS n
LEFT JOIN _launching AS l ON n.thread = l.launch_thread
LEFT JOIN _helper AS h ON n.thread = h.thread
GROUP BY n.thread
ORDER BY n.thread
