-- comm_op: communication of the lane, numbered.
--
-- Question: which device work moves data between GPUs?
-- Grain:    one row per communication op with a duration, whole capture
-- Needs:    lane_op
-- Params:
-- Columns:
--   op_no  BIGINT  number, by time
--   *      the columns of lane_op
SELECT
    *,
    row_number() OVER (ORDER BY start_ns, end_ns, context, stream, correlation, name_id) - 1 AS op_no
FROM lane_op
WHERE comm AND end_ns > start_ns
