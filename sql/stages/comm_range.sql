-- comm_range: ranges of the framework that name a collective.
--
-- Question: which collective did the framework ask for?
-- Grain:    one row per range
-- Needs:    nvtx, string
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   thread    BIGINT   thread
--   start_ns  BIGINT   push
--   end_ns    BIGINT   pop
--   op        VARCHAR  operation
WITH
_text AS (
    SELECT
        id AS name_id,
        CASE
            WHEN regexp_matches(value, 'all_?to_?all') THEN 'all_to_all'
            WHEN regexp_matches(value, 'reduce_?scatter') THEN 'reduce_scatter'
            WHEN regexp_matches(value, 'all_?gather') THEN 'all_gather'
            WHEN regexp_matches(value, 'all_?reduce') THEN 'all_reduce'
            WHEN regexp_matches(value, 'broadcast') THEN 'broadcast'
            WHEN regexp_matches(value, '(send|recv)') THEN 'send_recv'
            WHEN regexp_matches(value, 'barrier') THEN 'barrier'
            WHEN regexp_matches(value, 'gather') THEN 'gather'
            WHEN regexp_matches(value, 'scatter') THEN 'scatter'
            WHEN regexp_matches(value, 'reduce') THEN 'reduce'
        END AS op
    FROM string
    WHERE starts_with(value, 'nccl:') OR starts_with(value, 'c10d::')
)

SELECT
    n.thread,
    n.start_ns,
    n.end_ns,
    t.op
FROM nvtx AS n
INNER JOIN _text AS t ON n.name_id = t.name_id
WHERE n.process = $process AND n.kind = 'push_pop' AND n.end_ns IS NOT NULL AND t.op IS NOT NULL
ORDER BY n.thread, n.start_ns, n.end_ns DESC
