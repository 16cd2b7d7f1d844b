-- comm_doubt: signs of communication beside device work of which none is known to communicate.
--
-- Question: does anything that communicates go by a name that is not known?
-- Grain:    one row
-- Needs:    _op, kernel_name, _nccl_call
-- Params:
-- Columns:
--   calls    BIGINT   collectives that NCCL was asked for among several ranks
--   kernels  BOOLEAN  there are kernels, and no graph hides any
--   known    BOOLEAN  some kernel or copy communicates
SELECT
    (
        SELECT count(*)
        FROM _nccl_call
        WHERE moves_data(op, ranks)
    ) AS calls,
    coalesce(bool_or(kind = 'kernel') AND NOT bool_or(kind = 'graph'), false) AS kernels,
    coalesce(bool_or(peer), false) OR (SELECT coalesce(bool_or(comm), false) FROM kernel_name) AS known
FROM _op
WHERE fault IS NULL
