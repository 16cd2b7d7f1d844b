-- launching_thread: threads of the process that ask for device work, on any of its GPUs.
--
-- Question: whose activity can hold a launch up?
-- Grain:    one row per thread
-- Needs:    op
-- Params:
--   $first_lane INTEGER   first lane of the process in its trace
--   $last_lane  INTEGER   its last lane; the lanes of a process are numbered together
-- Columns:
--   thread  BIGINT  thread
SELECT DISTINCT launch_thread AS thread
FROM op
WHERE lane BETWEEN $first_lane AND $last_lane AND launch_thread IS NOT NULL
ORDER BY thread
