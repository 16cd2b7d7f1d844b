-- group_range: ranges named after a group of ranks.
--
-- Question: for which kind of parallelism does the program communicate here?
-- Grain:    one row per range whose text tells
-- Needs:    nvtx, string
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   thread    BIGINT   thread
--   start_ns  BIGINT   push
--   end_ns    BIGINT   pop
--   kind      VARCHAR  tp, pp, dp, fsdp, cp or ep
WITH
_text AS (
    SELECT
        id AS name_id,
        group_kind(value) AS kind
    FROM string
    WHERE regexp_matches(value, '(?i)parallel|mesh_|^fsdp::')
)

SELECT
    n.thread,
    n.start_ns,
    n.end_ns,
    t.kind
FROM nvtx AS n
INNER JOIN _text AS t ON n.name_id = t.name_id
WHERE n.process = $process AND n.kind = 'push_pop' AND n.end_ns IS NOT NULL AND t.kind IS NOT NULL
ORDER BY n.thread, n.start_ns, n.end_ns DESC
