-- os_call: calls into the operating system's runtime.
--
-- Question: when was a thread inside the C library, and in which function?
-- Grain:    one row per call with usable times
-- Needs:    _raw_os_call
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   process   BIGINT
--   thread    BIGINT
--   start_ns  BIGINT
--   end_ns    BIGINT
--   name_id   BIGINT
--   part      UTINYINT  file of the store that the row goes to: by process
SELECT
    process_of(thread) AS process,
    thread,
    start_ns,
    end_ns,
    name_id,
    part_of(process_of(thread)) AS part
FROM _raw_os_call
WHERE
    -- Other classes in this table are marks of the profiler, not calls.
    coalesce(event_class, 27) = 27
    AND time_fault(start_ns, end_ns, $limit_ns) IS NULL
