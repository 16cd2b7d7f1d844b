-- api: CUDA runtime and driver calls.
--
-- Question: which thread called what, and when?
-- Grain:    one row per call with usable times
-- Needs:    _raw_api
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   process       BIGINT
--   thread        BIGINT
--   start_ns      BIGINT
--   end_ns        BIGINT
--   name_id       BIGINT
--   correlation   BIGINT
--   return_value  INTEGER
--   callchain     BIGINT
--   part          UTINYINT  file of the store that the row goes to: by process
SELECT
    process_of(thread) AS process,
    thread,
    start_ns,
    end_ns,
    name_id,
    correlation,
    try_cast(return_value AS INTEGER) AS return_value,
    callchain,
    part_of(process_of(thread)) AS part
FROM _raw_api
WHERE time_fault(start_ns, end_ns, $limit_ns) IS NULL
