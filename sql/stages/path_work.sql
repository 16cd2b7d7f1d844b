-- path_work: device work launched under each place in the code.
--
-- Question: how much work did this range ask for?
-- Grain:    one row per path
-- Needs:    path_op, path_step
-- Columns:
--   path      BIGINT   path
--   work_ns   BIGINT   summed durations, those below included
--   alone_ns  BIGINT   of it, ops beside which nothing of the lane ran
WITH
_leaf AS (
    SELECT
        path,
        sum(end_ns - start_ns) AS work_ns,
        coalesce(sum(end_ns - start_ns) FILTER (WHERE NOT crowded), 0) AS alone_ns
    FROM path_op
    GROUP BY path
)

SELECT
    s.ancestor AS path,
    sum(l.work_ns)::BIGINT AS work_ns,
    sum(l.alone_ns)::BIGINT AS alone_ns
FROM _leaf AS l
INNER JOIN path_step AS s ON l.path = s.path
GROUP BY s.ancestor
ORDER BY s.ancestor
