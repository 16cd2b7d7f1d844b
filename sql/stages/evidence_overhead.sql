-- evidence_overhead: what the profiler and the lazy loader took on a thread.
--
-- Question: which host time is the capture's own, which is module loading?
-- Grain:    one row per overhead record
-- Needs:    overhead, string, api, launching_thread
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   thread    BIGINT   thread
--   cause     VARCHAR  profiler_overhead or jit_or_load
--   start_ns  BIGINT   first instant
--   end_ns    BIGINT   first instant after
--   name_id   BIGINT   name of the record
WITH
_record AS (
    SELECT
        o.thread,
        o.start_ns,
        o.end_ns,
        o.name_id,
        CASE
            WHEN o.type IN (3, 4, 5) THEN 'profiler_overhead'
            WHEN o.type IN (2, 6, 7) OR s.value LIKE 'dlopen(%' THEN 'jit_or_load'
            WHEN
                (o.type IS NULL OR o.type = 0)
                AND (s.value LIKE 'CUPTI %' OR s.value LIKE 'CUDA profiling %')
                THEN 'profiler_overhead'
        END AS cause,
        o.type = 3 OR s.value ILIKE '%buffer flush%' AS flush
    FROM overhead AS o
    LEFT JOIN string AS s ON o.name_id = s.id
    WHERE o.process = $process OR o.process IS NULL
),

_flush AS (
    SELECT
        start_ns,
        end_ns,
        name_id,
        thread
    FROM _record
    WHERE flush AND cause = 'profiler_overhead'
),

-- A flush of another thread holds a launching thread up only while that one is inside a CUDA call.
_met AS (
    SELECT
        a.thread,
        greatest(a.start_ns, f.start_ns) AS start_ns,
        least(a.end_ns, f.end_ns) AS end_ns,
        f.name_id
    FROM api AS a
    SEMI JOIN launching_thread AS t ON a.thread = t.thread
    INNER JOIN _flush AS f
        ON a.start_ns < f.end_ns AND a.end_ns > f.start_ns AND a.thread IS DISTINCT FROM f.thread
    WHERE a.process = $process
)

SELECT
    thread,
    cause,
    start_ns,
    end_ns,
    name_id
FROM _record
WHERE cause IS NOT NULL
UNION ALL
SELECT
    thread,
    'profiler_overhead',
    start_ns,
    end_ns,
    name_id
FROM _met
