-- step_event: what the host did that makes a step unlike the others.
--
-- Question: which steps evaluate, save, load, compile, capture a graph or start the profiler?
-- Grain:    one row per stretch
-- Needs:    evidence_range, evidence_call, evidence_overhead, evidence_save, api, string,
--           nccl_call, launching_thread
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   reason    VARCHAR  checkpoint, eval, jit_or_load, graph_capture, nccl_init, profiler, profiler_flush
--   start_ns  BIGINT   first instant
--   end_ns    BIGINT   first instant after
WITH
_capture AS (
    SELECT id AS name_id
    FROM string
    WHERE regexp_matches(value, '^cu(da)?(GraphInstantiate|StreamBeginCapture|StreamEndCapture)')
),

_unload AS (
    SELECT id AS name_id
    FROM string
    WHERE regexp_matches(value, '^cu(da)?(Module|Library)Unload')
),

_profiler AS (
    SELECT id AS name_id
    FROM string
    WHERE regexp_matches(value, '^cu(da)?Profiler(Start|Stop)')
),

_all AS (
    SELECT
        cause AS reason,
        start_ns,
        end_ns
    FROM evidence_range
    WHERE cause IN ('checkpoint', 'eval', 'jit_or_load')
    UNION ALL
    SELECT
        CASE WHEN c.name_id IS NULL THEN 'jit_or_load' ELSE 'graph_capture' END,
        e.start_ns,
        e.end_ns
    FROM evidence_call AS e
    LEFT JOIN _capture AS c ON e.name_id = c.name_id
    ANTI JOIN _unload AS u ON e.name_id = u.name_id
    WHERE e.cause = 'jit_or_load'
    UNION ALL
    SELECT
        'checkpoint',
        start_ns,
        end_ns
    FROM evidence_save
    UNION ALL
    -- Many threads load and flush; only the one that launches holds a step up.
    SELECT
        CASE WHEN o.cause = 'jit_or_load' THEN 'jit_or_load' ELSE 'profiler_flush' END,
        o.start_ns,
        o.end_ns
    FROM evidence_overhead AS o
    SEMI JOIN launching_thread AS t ON o.thread = t.thread
    UNION ALL
    SELECT
        'profiler',
        a.start_ns,
        a.end_ns
    FROM api AS a
    SEMI JOIN _profiler AS p ON a.name_id = p.name_id
    WHERE a.process = $process
    UNION ALL
    SELECT
        'nccl_init',
        start_ns,
        end_ns
    FROM nccl_call
    WHERE process = $process AND op IN ('comm_init', 'comm_split')
)

SELECT
    reason,
    start_ns,
    end_ns
FROM _all
ORDER BY start_ns, end_ns, reason
