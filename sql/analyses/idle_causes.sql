-- idle_causes: idle time of the kept steps by cause.
--
-- Question: why was the GPU idle?
-- Grain:    one row per cause
-- Needs:    idle_cause
-- Columns:
--   cause  VARCHAR  cause
--   ns     BIGINT   idle time
SELECT
    cause,
    sum(ns)::BIGINT AS ns
FROM idle_cause
GROUP BY cause
ORDER BY cause
