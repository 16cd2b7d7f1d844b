-- sync: synchronisation records.
--
-- Question: which waits did the driver record?
-- Grain:    one row per record with usable times
-- Needs:    _raw_sync, lane
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   lane         INTEGER   NULL where the process did no device work there
--   process      BIGINT
--   start_ns     BIGINT
--   end_ns       BIGINT
--   stream       BIGINT
--   context      BIGINT
--   type         INTEGER
--   event        BIGINT
--   event_sync   BIGINT
--   correlation  BIGINT
SELECT
    lane.lane,
    process_of(_raw_sync.process_id) AS process,
    _raw_sync.start_ns,
    _raw_sync.end_ns,
    _raw_sync.stream,
    _raw_sync.context,
    try_cast(_raw_sync.type AS INTEGER) AS type,
    _raw_sync.event,
    _raw_sync.event_sync,
    _raw_sync.correlation
FROM _raw_sync
LEFT JOIN lane ON process_of(_raw_sync.process_id) = lane.process AND coalesce(_raw_sync.device, 0) = lane.device
WHERE time_fault(_raw_sync.start_ns, _raw_sync.end_ns, $limit_ns) IS NULL
