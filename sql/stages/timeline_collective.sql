-- timeline_collective: which collective each mark of exposed communication stands for.
--
-- Question: whose waiting and transfer shall the job draw on which row?
-- Grain:    one row per communication op of one window that is not hidden
-- Needs:    timeline_comm, timeline_row, collective
-- Params:
--   $from_ns BIGINT   as timeline_op
--   $step    INTEGER  index of the step that the window is
-- Columns:
--   step      INTEGER  that step
--   row       INTEGER  as timeline_row
--   op_no     BIGINT   as collective
--   start_ns  BIGINT   first instant inside the window, from its start
--   dur_ns    BIGINT   length inside the window
SELECT
    $step::INTEGER AS step,
    coalesce(s.row, r.row) AS row,
    min(c.op_no) AS op_no,
    o.from_ns - $from_ns AS start_ns,
    o.until_ns - o.from_ns AS dur_ns
FROM timeline_comm AS o
INNER JOIN collective AS c
    ON
        o.start_ns = c.start_ns
        AND o.end_ns = c.end_ns
        AND o.context IS NOT DISTINCT FROM c.context
        AND o.stream IS NOT DISTINCT FROM c.stream
        AND o.correlation IS NOT DISTINCT FROM c.correlation
LEFT JOIN timeline_row AS r ON r.kind = 'others'
LEFT JOIN timeline_row AS s
    ON
        s.kind = 'stream'
        AND o.context IS NOT DISTINCT FROM s.context
        AND o.stream IS NOT DISTINCT FROM s.stream
WHERE NOT o.hidden AND coalesce(s.row, r.row) IS NOT NULL
-- Ops alike in all of these differ in name only, and share one row.
GROUP BY s.row, r.row, o.from_ns, o.until_ns, o.context, o.stream, o.correlation, o.name_id
ORDER BY row, start_ns, dur_ns, op_no
