-- diagnostic: what the profiler said about its own capture.
--
-- Question: what went wrong while recording?
-- Grain:    one row per message
-- Needs:    _raw_diagnostic
-- Params:
-- Columns:
--   timestamp_ns  BIGINT
--   severity      INTEGER
--   source        INTEGER
--   text          VARCHAR
SELECT
    timestamp_ns,
    try_cast(severity AS INTEGER) AS severity,
    try_cast(source AS INTEGER) AS source,
    text
FROM _raw_diagnostic
ORDER BY timestamp_ns, severity, source, text
