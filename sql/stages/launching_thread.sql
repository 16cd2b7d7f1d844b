-- launching_thread: threads of the process that ask for device work, on any of its GPUs.
--
-- Question: whose activity can hold a launch up?
-- Grain:    one row per thread
-- Needs:    op, lane
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   thread  BIGINT  thread
SELECT DISTINCT o.launch_thread AS thread
FROM op AS o
INNER JOIN lane AS l ON o.lane = l.lane
WHERE l.process = $process AND o.launch_thread IS NOT NULL
ORDER BY thread
