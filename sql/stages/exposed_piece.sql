-- exposed_piece: exposed communication as stretches, each with its collective.
--
-- Question: when did which collective hold the GPU up?
-- Grain:    one row per stretch of the kept steps
-- Needs:    exposed_comm_part, comm_owner, collective
-- Columns:
--   op_no     BIGINT   the collective that ends last
--   step      INTEGER  step
--   start_ns  BIGINT   first instant
--   end_ns    BIGINT   first instant after
--   gated     BOOLEAN  the next kernel had been asked for
SELECT
    min(c.op_no) AS op_no,
    p.step,
    p.start_ns,
    p.end_ns,
    p.gated
FROM exposed_comm_part AS p
INNER JOIN comm_owner AS o ON p.owner = o.owner
INNER JOIN collective AS c
    ON
        o.op_start_ns = c.start_ns
        AND o.op_end_ns = c.end_ns
        AND o.context IS NOT DISTINCT FROM c.context
        AND o.stream IS NOT DISTINCT FROM c.stream
        AND o.correlation IS NOT DISTINCT FROM c.correlation
GROUP BY p.step, p.start_ns, p.end_ns, p.gated
ORDER BY p.start_ns
