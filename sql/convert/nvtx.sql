-- nvtx: ranges and marks.
--
-- Question: what was going on, as the program and its libraries tell it?
-- Grain:    one row per range or mark with a usable start
-- Needs:    _raw_nvtx, _text
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   process     BIGINT
--   thread      BIGINT
--   start_ns    BIGINT
--   end_ns      BIGINT    NULL when open; a mark ends where it starts
--   end_thread  BIGINT
--   domain      BIGINT
--   kind        VARCHAR   push_pop, start_end or mark
--   name_id     BIGINT
--   framework   BOOLEAN
--   open        BOOLEAN
WITH
_sorted AS (
    SELECT
        _raw_nvtx.thread,
        _raw_nvtx.start_ns,
        CASE
            WHEN _raw_nvtx.event_type = 34 THEN _raw_nvtx.start_ns
            WHEN NOT is_open(_raw_nvtx.start_ns, _raw_nvtx.end_ns) THEN _raw_nvtx.end_ns
        END AS end_ns,
        _raw_nvtx.end_thread,
        coalesce(_raw_nvtx.domain, 0) AS domain,
        CASE WHEN _raw_nvtx.event_type = 34 THEN 0::UTINYINT WHEN _raw_nvtx.event_type IN (60, 71) THEN 1 ELSE 2 END
            AS kind_code,
        coalesce(text_id(_raw_nvtx.plain), _text.name_id, _raw_nvtx.text_id) AS name_id,
        coalesce(_raw_nvtx.framework, _text.framework, false) AS framework,
        _raw_nvtx.event_type != 34 AND is_open(_raw_nvtx.start_ns, _raw_nvtx.end_ns) AS open
    FROM _raw_nvtx
    LEFT JOIN _text ON _raw_nvtx.text_id = _text.id
    WHERE range_fault(_raw_nvtx.event_type, _raw_nvtx.start_ns, _raw_nvtx.end_ns, $limit_ns) IS NULL
    -- What encloses comes first. The engine sorts keys above 24 bytes, a byte for NULL each, at half
    -- the speed.
    ORDER BY
        _raw_nvtx.thread,
        _raw_nvtx.start_ns,
        CASE
            WHEN NOT is_open(_raw_nvtx.start_ns, _raw_nvtx.end_ns)
                THEN short_duration(_raw_nvtx.start_ns, _raw_nvtx.end_ns)
        END DESC NULLS FIRST
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
