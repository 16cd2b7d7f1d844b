-- op_state: when each op ran, and what it counts as.
--
-- Question: what did the lane do, op by op?
-- Grain:    one row per op, in the order of the store
-- Needs:    lane_op
-- Columns:
--   start_ns    BIGINT   device start
--   end_ns      BIGINT   device end
--   is_compute  BOOLEAN  a kernel that does not communicate
--   is_graph    BOOLEAN  a whole graph
--   is_copy     BOOLEAN  a copy or memset that does not communicate
--   comm        BOOLEAN  communication
SELECT
    start_ns,
    end_ns,
    is_compute,
    is_graph,
    is_copy,
    comm
FROM lane_op
