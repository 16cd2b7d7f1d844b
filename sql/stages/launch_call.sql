-- launch_call: the calls that asked for the lane's work.
--
-- Question: when was the host issuing?
-- Grain:    one row per op with a recorded call
-- Needs:    lane_op
-- Columns:
--   start_ns  BIGINT  call
--   end_ns    BIGINT  return
SELECT
    launch_start_ns AS start_ns,
    launch_end_ns AS end_ns
FROM lane_op
WHERE launch_start_ns IS NOT NULL
