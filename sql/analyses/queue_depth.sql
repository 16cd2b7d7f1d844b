-- queue_depth: how many kernels wait or run when another is launched.
--
-- Question: does the host run ahead of the GPU?
-- Grain:    one row
-- Needs:    launch_pace
-- Columns:
--   depth  BIGINT  median number of kernels launched before and not yet over
SELECT depth::BIGINT AS depth
FROM launch_pace
