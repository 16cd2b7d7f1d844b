-- call_path: where in the code each blocking call stands.
--
-- Question: what was the thread doing when it waited?
-- Grain:    one row per blocking call inside a range
-- Needs:    call_found, path_name
-- Columns:
--   call  BIGINT   as blocking_call
--   path  VARCHAR  enclosing ranges without the step's own, numbers written N
SELECT
    f.call,
    n.inner_name AS path
FROM call_found AS f
INNER JOIN path_name AS n ON f.path = n.path
ORDER BY f.call
