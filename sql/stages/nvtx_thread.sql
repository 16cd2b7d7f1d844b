-- nvtx_thread: threads of the process that annotate, and whether they launch.
--
-- Question: on which threads are there ranges?
-- Grain:    one row per thread
-- Needs:    nvtx, lane_op
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   thread    BIGINT   thread
--   launches  BOOLEAN  device work of this lane was asked for on it
WITH
_launching AS (
    SELECT DISTINCT launch_thread
    FROM lane_op
    WHERE launch_thread IS NOT NULL
)

SELECT
    n.thread,
    bool_or(l.launch_thread IS NOT NULL) AS launches
FROM (SELECT DISTINCT thread FROM nvtx WHERE process = $process AND kind <> 'mark') AS n
LEFT JOIN _launching AS l ON n.thread = l.launch_thread
GROUP BY n.thread
ORDER BY n.thread
