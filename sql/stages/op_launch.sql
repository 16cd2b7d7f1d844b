-- op_launch: the call that asked for each op.
--
-- Question: who asked for it, and when?
-- Grain:    one row per op, in the order of the store
-- Needs:    lane_op
-- Columns:
--   launch_thread    BIGINT  thread of the launching call, NULL if no call was recorded
--   launch_start_ns  BIGINT  the launching call
--   launch_end_ns    BIGINT  its end
SELECT
    launch_thread,
    launch_start_ns,
    launch_end_ns
FROM lane_op
