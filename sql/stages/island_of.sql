-- island_of: stretches in which communication, or copies, are hidden.
--
-- Question: when would a copy or a collective cost nothing?
-- Grain:    one row per stretch
-- Needs:    island
-- Params:
--   $state VARCHAR   as island
-- Columns:
--   start_ns  BIGINT  first instant
--   end_ns    BIGINT  first instant after
SELECT
    start_ns,
    end_ns
FROM island
WHERE state = $state
ORDER BY start_ns
