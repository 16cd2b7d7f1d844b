-- nvtx: ranges and marks.
--
-- Question: what was going on, as the program and its libraries tell it?
-- Grain:    one row per range or mark with a usable start
-- Needs:    _raw_nvtx
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
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
--   part        UTINYINT  file of the store that the row goes to: by thread
--   reader      INTEGER   who read it: what one reader reads comes as it lies in the input
SELECT
    process_of(thread) AS process,
    thread,
    start_ns,
    CASE
        WHEN event_type = 34 THEN start_ns
        WHEN NOT is_open(start_ns, end_ns) THEN end_ns
    END AS end_ns,
    end_thread,
    coalesce(domain, 0) AS domain,
    -- Few texts: passed on as numbers, they are written in half the time.
    CASE
        WHEN event_type = 34 THEN 'mark' WHEN event_type IN (60, 71) THEN 'start_end' ELSE 'push_pop'
    END::ENUM('mark', 'push_pop', 'start_end') AS kind,
    coalesce(text_id(plain), text_id) AS name_id,
    coalesce(framework, false) AS framework,
    event_type != 34 AND is_open(start_ns, end_ns) AS open,
    (hash(thread) & 127)::UTINYINT AS part,
    reader
FROM _raw_nvtx
WHERE range_fault(event_type, start_ns, end_ns, $limit_ns) IS NULL
