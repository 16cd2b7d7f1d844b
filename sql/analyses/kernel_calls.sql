-- kernel_calls: calls that start kernels, whether or not a kernel was recorded for them.
--
-- Question: did the program ask for kernels that this capture does not hold?
-- Grain:    one row
-- Needs:    api, string
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   calls  BIGINT  launches of kernels and graphs in the whole capture
WITH
_name AS (
    SELECT id
    FROM string
    WHERE regexp_matches(value, '^cu(da)?(Launch(Cooperative)?Kernel|GraphLaunch)')
)

SELECT count(*) AS calls
FROM api AS a
SEMI JOIN _name AS n ON a.name_id = n.id
WHERE a.process = $process
