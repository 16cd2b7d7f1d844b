-- comm_place: where in the program communication is asked for.
--
-- Question: what do the ranges and the kernels around it say a collective is for?
-- Grain:    one row per communication op of which anything is known
-- Needs:    comm_op, group_range, comm_beside
-- Params:
-- Columns:
--   op_no   BIGINT   number of the op
--   named   VARCHAR  what the innermost range named after a group of ranks says
--   beside  INTEGER  1 where attention is asked for right before or after, else 0
WITH
_named AS (
    SELECT
        o.op_no,
        r.kind
    FROM comm_op AS o
    ASOF INNER JOIN group_range AS r ON o.launch_thread = r.thread AND o.launch_start_ns >= r.start_ns
    WHERE o.launch_start_ns < r.end_ns
)

SELECT
    coalesce(n.op_no, b.op_no) AS op_no,
    n.kind AS named,
    b.beside
FROM _named AS n
FULL JOIN comm_beside AS b ON n.op_no = b.op_no
ORDER BY op_no
