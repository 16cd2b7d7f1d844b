-- path_work: device work launched under each place in the code.
--
-- Question: how much work did this range ask for?
-- Grain:    one row per path
-- Needs:    path_leaf, path_step
-- Columns:
--   path      BIGINT   path
--   work_ns   BIGINT   summed durations, those below included
--   alone_ns  BIGINT   of it, ops beside which nothing of the lane ran
SELECT
    s.ancestor AS path,
    sum(l.work_ns)::BIGINT AS work_ns,
    sum(l.alone_ns)::BIGINT AS alone_ns
FROM path_leaf AS l
INNER JOIN path_step AS s ON l.path = s.path
GROUP BY s.ancestor
HAVING sum(l.work_ns) > 0
ORDER BY s.ancestor
