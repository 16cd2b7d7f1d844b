-- warning: the profiler's messages, each once.
--
-- Question: what went wrong while recording, and how often?
-- Grain:    one row per (severity, text)
-- Needs:    diagnostic
-- Params:
-- Columns:
--   severity  INTEGER
--   text      VARCHAR
--   count     BIGINT
SELECT
    severity,
    text,
    count(*) AS count
FROM diagnostic
WHERE text IS NOT NULL
GROUP BY severity, text
ORDER BY severity = 4, severity DESC, count DESC, text
LIMIT 500
