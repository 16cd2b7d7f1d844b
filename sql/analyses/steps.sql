-- steps: the six states of the device in every window.
--
-- Question: what did the GPU do in each step?
-- Grain:    one row per segment of the time line
-- Needs:    level1
-- Columns:
--   (those of level1)
SELECT *
FROM level1
ORDER BY segment
