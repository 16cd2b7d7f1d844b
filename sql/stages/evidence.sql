-- evidence: what launching threads were seen doing that can keep them from launching.
--
-- Question: what was the host doing when the GPU ran out of work?
-- Grain:    one row per stretch of activity
-- Needs:    launching_thread, evidence_call, evidence_range, evidence_overhead, evidence_sched,
--           evidence_save, blocking_call, nccl_call, late_wait
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   evidence  BIGINT   number
--   thread    BIGINT   thread
--   cause     VARCHAR  what the activity counts as
--   start_ns  BIGINT   first instant
--   end_ns    BIGINT   first instant after
--   name_id   BIGINT   name of the call or range
--   call      BIGINT   as blocking_call; NULL for anything else
WITH
_all AS (
    SELECT
        thread,
        cause,
        start_ns,
        end_ns,
        name_id,
        NULL::BIGINT AS call
    FROM evidence_call
    UNION ALL
    SELECT
        thread,
        cause,
        start_ns,
        end_ns,
        name_id,
        NULL
    FROM evidence_range
    UNION ALL
    SELECT
        thread,
        cause,
        start_ns,
        end_ns,
        name_id,
        NULL
    FROM evidence_overhead
    UNION ALL
    SELECT
        thread,
        'checkpoint',
        start_ns,
        end_ns,
        name_id,
        NULL
    FROM evidence_save
    UNION ALL
    SELECT
        thread,
        'cpu_contention',
        start_ns,
        end_ns,
        NULL,
        NULL
    FROM evidence_sched
    UNION ALL
    SELECT
        thread,
        'host_sync',
        start_ns,
        end_ns,
        name_id,
        call
    FROM blocking_call
    UNION ALL
    SELECT
        thread,
        'comm_host',
        start_ns,
        end_ns,
        NULL,
        NULL
    FROM nccl_call
    WHERE process = $process
    UNION ALL
    SELECT
        thread,
        'data_loading',
        start_ns,
        end_ns,
        name_id,
        NULL
    FROM late_wait
)

SELECT
    row_number() OVER (ORDER BY a.thread, a.start_ns, a.end_ns DESC, a.cause, a.name_id) - 1 AS evidence,
    a.*
FROM _all AS a
SEMI JOIN launching_thread AS t ON a.thread = t.thread
WHERE a.end_ns > a.start_ns
ORDER BY evidence
