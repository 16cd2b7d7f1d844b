-- stream: CUDA streams.
--
-- Question: what priority has a stream?
-- Grain:    one row per (process, context, stream)
-- Needs:    _raw_stream, lane
-- Params:
-- Columns:
--   process   BIGINT
--   context   BIGINT
--   stream    BIGINT
--   priority  BIGINT
--   flag      BIGINT
SELECT
    -- The packed id is put together from its parts unless a lane shows it.
    coalesce(_known.process, (_raw_stream.hw << 32) | (_raw_stream.vm << 24) | _raw_stream.pid) AS process,
    _raw_stream.context,
    _raw_stream.stream,
    -- Priorities are negative; some exports hold them unsigned.
    min(CASE
        WHEN _raw_stream.priority >= 2147483648 THEN _raw_stream.priority - 4294967296
        ELSE _raw_stream.priority
    END) AS priority,
    min(_raw_stream.flag) AS flag
FROM _raw_stream
LEFT JOIN (
    SELECT
        pid,
        min(process) AS process
    FROM lane
    GROUP BY pid
    HAVING count(DISTINCT process) = 1
) AS _known ON _raw_stream.pid = _known.pid
GROUP BY ALL
ORDER BY 1, 2, 3
