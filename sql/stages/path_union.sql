-- path_union: device time under each place in the code where ops of the place overlap.
--
-- Question: how long was the GPU busy for this range, each instant once?
-- Grain:    one row per path
-- Needs:    path_op, path_step
-- Columns:
--   path     BIGINT   path
--   union_ns BIGINT   union of the ops launched in it or below
WITH
_until AS (
    SELECT
        s.ancestor AS path,
        o.start_ns,
        o.end_ns,
        max(o.end_ns) OVER (
            PARTITION BY s.ancestor ORDER BY o.start_ns, o.end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM path_op AS o
    INNER JOIN path_step AS s ON o.path = s.path
)

SELECT
    path,
    sum(greatest(0, end_ns - greatest(start_ns, coalesce(before_ns, start_ns))))::BIGINT AS union_ns
FROM _until
GROUP BY path
ORDER BY path
