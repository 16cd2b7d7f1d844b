-- comm_place: where in the program communication is asked for.
--
-- Question: what do the ranges and the kernels around it say a collective is for?
-- Grain:    one row per communication op of which anything is known
-- Needs:    comm_op, group_range, lane_op
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
),

-- In the order of the program: what only moves, casts or rotates values says nothing of the place.
_landmark AS (
    SELECT
        CASE WHEN graph_node IS NULL THEN coalesce(launch_start_ns, start_ns) ELSE start_ns END AS asked_ns,
        bool_or(class_rank = 0) AS is_attention
    FROM lane_op
    WHERE is_compute AND class_rank IN (0, 1, 2, 3, 5, 6, 7, 9, 12) AND EXISTS (FROM comm_op)
    GROUP BY asked_ns
),

_asking AS (
    SELECT
        op_no,
        CASE WHEN graph_node IS NULL THEN coalesce(launch_start_ns, start_ns) ELSE start_ns END AS asked_ns
    FROM comm_op
),

_beside AS (
    SELECT
        a.op_no,
        coalesce(b.is_attention, FALSE) OR coalesce(n.is_attention, FALSE) AS beside
    FROM _asking AS a
    ASOF LEFT JOIN _landmark AS b ON a.asked_ns >= b.asked_ns
    ASOF LEFT JOIN _landmark AS n ON a.asked_ns <= n.asked_ns
    WHERE b.asked_ns IS NOT NULL OR n.asked_ns IS NOT NULL
)

SELECT
    coalesce(n.op_no, b.op_no) AS op_no,
    n.kind AS named,
    b.beside::INTEGER AS beside
FROM _named AS n
FULL JOIN _beside AS b ON n.op_no = b.op_no
ORDER BY op_no
