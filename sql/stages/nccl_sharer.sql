-- nccl_sharer: GPUs of one process that a group of NCCL calls launched on.
--
-- Question: whose calls are in this group?
-- Grain:    one row per end of a group and lane; none for a process of one lane
-- Needs:    op, nccl_grouped
-- Params:
--   $first_lane INTEGER   the first lane of the process
--   $last_lane  INTEGER   its last
-- Columns:
--   thread    BIGINT
--   group_no  BIGINT
--   lane      INTEGER
SELECT DISTINCT
    e.thread,
    e.group_no,
    o.lane
FROM op AS o
ASOF INNER JOIN (FROM nccl_grouped WHERE op = 'group_end' AND depth = 0) AS e
    ON o.launch_thread = e.thread AND o.launch_start_ns >= e.start_ns
WHERE
    $first_lane < $last_lane
    AND o.lane BETWEEN $first_lane AND $last_lane
    AND o.comm
    AND o.launch_start_ns < e.end_ns
