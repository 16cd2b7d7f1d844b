-- unclassified: costly kernels that no rule knows.
--
-- Question: which names should a rule be written for?
-- Grain:    one row per kernel name
-- Needs:    owned_op, kernel_name
-- Params:
--   $least_ns BIGINT   work below this is not worth a rule
-- Columns:
--   name     VARCHAR  full name
--   count    BIGINT   kernels
--   work_ns  BIGINT   summed durations
SELECT
    n.name,
    count(*) AS count,
    sum(o.end_ns - o.start_ns)::BIGINT AS work_ns
FROM owned_op AS o
INNER JOIN kernel_name AS n ON o.name_id = n.name_id
WHERE o.kind = 'kernel' AND n.class = 'other'
GROUP BY n.name
HAVING sum(o.end_ns - o.start_ns) > $least_ns
ORDER BY work_ns DESC, n.name
LIMIT 50
