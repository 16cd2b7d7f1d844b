-- idle_cause: every idle instant of the kept steps under one cause.
--
-- Question: why was the GPU idle, step by step?
-- Grain:    one row per step and cause
-- Needs:    gap_part
-- Columns:
--   step   INTEGER  step
--   cause  VARCHAR  cause
--   ns     BIGINT   idle time
SELECT
    step,
    cause,
    sum(ns)::BIGINT AS ns
FROM gap_part
GROUP BY step, cause
HAVING sum(ns) <> 0
ORDER BY step, cause
