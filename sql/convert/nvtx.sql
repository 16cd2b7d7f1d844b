-- nvtx: ranges and marks.
--
-- Question: what was going on, as the program and its libraries tell it?
-- Grain:    one row per range or mark with a usable start
-- Needs:    _nvtx
-- Params:
-- Columns:
--   process     BIGINT
--   thread      BIGINT
--   start_ns    BIGINT
--   end_ns      BIGINT    NULL when open; a mark ends where it starts
--   end_thread  BIGINT
--   domain      BIGINT
--   kind        VARCHAR   push_pop, start_end or mark
--   name_id     BIGINT
--   framework   BOOLEAN
--   open        BOOLEAN
SELECT
    process_of(thread) AS process,
    thread,
    start_ns,
    CASE WHEN event_type = 34 THEN start_ns WHEN NOT open THEN end_ns END AS end_ns,
    end_thread,
    domain,
    CASE
        WHEN event_type IN (59, 70) THEN 'push_pop'
        WHEN event_type IN (60, 71) THEN 'start_end'
        ELSE 'mark'
    END AS kind,
    name_id,
    framework,
    open AND event_type != 34 AS open
FROM _nvtx
WHERE
    event_type IN (34, 59, 60, 70, 71)
    AND (fault IS NULL OR (event_type = 34 AND start_ns IS NOT NULL))
ORDER BY thread, start_ns, end_ns DESC, name_id, domain
