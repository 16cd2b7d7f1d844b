-- nvtx_sorted: ranges and marks in the order of threads and time, what encloses first.
--
-- Question: what comes first on a thread?
-- Grain:    one row per row of nvtx
-- Needs:    _unsorted
-- Params:
-- Columns:
--   process     BIGINT
--   thread      BIGINT
--   start_ns    BIGINT
--   end_ns      BIGINT    as nvtx
--   end_thread  BIGINT
--   domain      BIGINT
--   kind        VARCHAR   as nvtx
--   name_id     BIGINT
--   framework   BOOLEAN
--   open        BOOLEAN
WITH
-- A kind travels through the sort as a small number: rows of texts would double its cost.
_sorted AS (
    SELECT
        * EXCLUDE (process, kind),
        CASE kind WHEN 'mark' THEN 0::UTINYINT WHEN 'start_end' THEN 1 ELSE 2 END AS kind_code
    FROM _unsorted
    -- The engine sorts keys above 24 bytes, a byte for NULL each, at half the speed.
    ORDER BY
        thread,
        start_ns,
        CASE WHEN end_ns IS NOT NULL THEN short_duration(start_ns, end_ns) END DESC NULLS FIRST
)

SELECT
    process_of(thread) AS process,
    thread,
    start_ns,
    end_ns,
    end_thread,
    domain,
    CASE kind_code WHEN 0 THEN 'mark' WHEN 1 THEN 'start_end' ELSE 'push_pop' END AS kind,
    name_id,
    framework,
    open
FROM _sorted
