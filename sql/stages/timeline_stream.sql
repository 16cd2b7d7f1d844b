-- timeline_stream: what each stream carries in one window of the timeline, copies apart.
--
-- Question: which streams are worth a row?
-- Grain:    one row per (context, stream)
-- Needs:    timeline_op, kernel_name
-- Columns:
--   context     BIGINT   CUDA context
--   stream      BIGINT   CUDA stream
--   work_ns     BIGINT   summed durations inside the window; at least their union
--   comm_ns     BIGINT   of that, communication
--   collective  VARCHAR  the one kind of collective it carries; NULL for none or several
SELECT
    o.context,
    o.stream,
    sum(o.until_ns - o.from_ns)::BIGINT AS work_ns,
    coalesce(sum(o.until_ns - o.from_ns) FILTER (WHERE o.comm), 0)::BIGINT AS comm_ns,
    CASE WHEN count(DISTINCT n.op) = 1 THEN min(n.op) END AS collective
FROM timeline_op AS o
LEFT JOIN kernel_name AS n ON o.comm AND o.name_id = n.name_id
WHERE NOT o.is_copy
GROUP BY o.context, o.stream
ORDER BY work_ns DESC, o.stream, o.context
