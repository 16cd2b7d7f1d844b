-- first_launch: when kernels of some names were launched first in the process.
--
-- Question: was this the first launch, which loads and compiles?
-- Grain:    one row per name asked about
-- Needs:    op, long_launch
-- Params:
--   $first_lane INTEGER  first lane of the process in its trace
--   $last_lane  INTEGER  its last lane; the lanes of a process are numbered together
-- Columns:
--   name_id          BIGINT  kernel name
--   launch_start_ns  BIGINT  its first recorded launching call
SELECT
    o.name_id,
    min(o.launch_start_ns) AS launch_start_ns
FROM op AS o
SEMI JOIN long_launch AS n ON o.name_id = n.name_id
WHERE o.lane BETWEEN $first_lane AND $last_lane AND o.kind = 'kernel'
GROUP BY o.name_id
ORDER BY o.name_id
