-- path_work: device work launched under each place in the code.
--
-- Question: how much work did this range ask for?
-- Grain:    one row per path
-- Needs:    path_leaf, path_shared, path_step
-- Columns:
--   path      BIGINT   path
--   work_ns   BIGINT   summed durations, those below included
--   alone_ns  BIGINT   of it, ops beside which nothing of the lane ran
WITH
_part AS (
    SELECT
        s.ancestor AS path,
        l.work_ns,
        l.alone_ns
    FROM path_leaf AS l
    INNER JOIN path_step AS s ON l.path = s.path
    UNION ALL
    -- What is shared with a range that crosses this one is counted above it already.
    SELECT
        path,
        work_ns,
        alone_ns
    FROM path_shared
)

SELECT
    path,
    sum(work_ns)::BIGINT AS work_ns,
    sum(alone_ns)::BIGINT AS alone_ns
FROM _part
GROUP BY path
HAVING sum(work_ns) > 0
ORDER BY path
