-- owned_op: the ops that the kept steps asked for.
--
-- Question: which kernels and copies are a step's own, wherever they ran?
-- Grain:    one row per op
-- Needs:    lane_op, op_step
-- Columns:
--   (those of lane_op, and)
--   step      INTEGER  position of the owning step among the kept ones
SELECT
    o.*,
    s.step
FROM lane_op AS o
-- op_step has a row for each op, in the order of the store.
POSITIONAL JOIN op_step AS s
WHERE s.owned
