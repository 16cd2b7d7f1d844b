-- overhead: what profiling and the driver cost.
--
-- Question: when was a thread busy with tracing or loading?
-- Grain:    one row per record with usable times
-- Needs:    _raw_overhead, _raw_profiler_overhead
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   process   BIGINT
--   thread    BIGINT
--   start_ns  BIGINT
--   end_ns    BIGINT
--   type      INTEGER   as ENUM_CUPTI_OVERHEAD_TYPE, NULL where the export has none
--   name_id   BIGINT
WITH
_both AS (
    SELECT * FROM _raw_overhead
    UNION ALL
    SELECT * FROM _raw_profiler_overhead
)

SELECT
    process_of(thread) AS process,
    thread,
    start_ns,
    end_ns,
    try_cast(type AS INTEGER) AS type,
    name_id
FROM _both
WHERE time_fault(start_ns, end_ns, $limit_ns) IS NULL
ORDER BY thread, start_ns, end_ns, type, name_id
