-- comm_asked: collectives that NCCL was asked for, and device work that is known to communicate.
--
-- Question: does anything that communicates go by a name that is not known?
-- Grain:    one row
-- Needs:    nccl_call, lane_op
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   calls     BIGINT  collectives asked for among several ranks, in the whole capture
--   comm_ops  BIGINT  kernels and copies of the lane that communicate
SELECT
    (
        SELECT count(*)
        FROM nccl_call
        WHERE process = $process AND moves_data(op, ranks)
    ) AS calls,
    (SELECT count(*) FROM lane_op WHERE comm) AS comm_ops
