-- context: CUDA contexts.
--
-- Question: which device does a context use, and which is its default stream?
-- Grain:    one row per (process, context)
-- Needs:    _raw_context, _raw_null_stream, lane
-- Params:
-- Columns:
--   process      BIGINT
--   context      BIGINT
--   device       BIGINT
--   null_stream  BIGINT
WITH
_both AS (
    SELECT * FROM _raw_context
    UNION ALL
    SELECT * FROM _raw_null_stream
)

SELECT
    coalesce(_known.process, (_both.hw << 32) | (_both.vm << 24) | _both.pid) AS process,
    _both.context,
    min(_both.device) AS device,
    min(_both.null_stream) AS null_stream
FROM _both
LEFT JOIN (
    SELECT
        pid,
        min(process) AS process
    FROM lane
    GROUP BY pid
    HAVING count(DISTINCT process) = 1
) AS _known ON _both.pid = _known.pid
GROUP BY ALL
ORDER BY 1, 2
