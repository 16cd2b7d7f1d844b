-- call_site: the program's own frame behind a recorded call chain.
--
-- Question: which line made this call?
-- Grain:    one row per call chain of a blocking call
-- Needs:    blocking_call, callchain, string
-- Columns:
--   callchain  BIGINT   as api
--   site       VARCHAR  symbol of the innermost frame outside the CUDA and framework libraries; the
--                       innermost of all where there is no such frame
WITH
_frame AS (
    SELECT
        c.id AS callchain,
        c.depth,
        s.value AS symbol,
        -- Frames of these libraries only pass the call on.
        regexp_matches(
            coalesce(m.value, ''),
            '(?i)(libcuda|libcudart|libcublas|libcudnn|libnccl|libnvidia|libcupti|libtorch|libc10|nsys'
            || '|libToolsInjection|libpython|libc\.so|libpthread|\[kernel)'
        ) AS passing
    FROM callchain AS c
    INNER JOIN string AS s ON c.symbol_id = s.id
    LEFT JOIN string AS m ON c.module_id = m.id
    WHERE c.id IN (SELECT callchain FROM blocking_call)
)

SELECT
    callchain,
    coalesce(
        arg_min(symbol, depth) FILTER (WHERE NOT passing), arg_min(symbol, depth)
    ) AS site
FROM _frame
GROUP BY callchain
ORDER BY callchain
