-- cuda_event: records of CUDA events, and when the GPU reached them where that was traced.
--
-- Question: which work does an event stand behind?
-- Grain:    one row per recording of an event
-- Needs:    _raw_cuda_event
-- Params:
-- Columns:
--   process      BIGINT
--   context      BIGINT
--   stream       BIGINT
--   event        BIGINT   the handle, used again and again
--   event_sync   BIGINT   one recording of it, as in sync; NULL where the export has none
--   correlation  BIGINT   of the call that recorded it
--   at_ns        BIGINT   when the GPU reached it, NULL if not traced
SELECT
    process_of(process_id) AS process,
    context,
    stream,
    event,
    event_sync,
    correlation,
    -- Zero stands for "not collected".
    nullif(at_ns, 0) AS at_ns
FROM _raw_cuda_event
ORDER BY process, event_sync, correlation, context, stream, event, at_ns
