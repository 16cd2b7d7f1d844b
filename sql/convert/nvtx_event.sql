-- nvtx_event: annotations as recorded, their texts made ids.
--
-- Question: what did the program and its libraries say about themselves?
-- Grain:    one row per NVTX record
-- Needs:    _raw_nvtx, _text
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   start_ns    BIGINT
--   end_ns      BIGINT
--   event_type  BIGINT
--   thread      BIGINT
--   end_thread  BIGINT
--   domain      BIGINT
--   name_id     BIGINT
--   framework   BOOLEAN
--   open        BOOLEAN
--   fault       VARCHAR   why the row cannot be used, NULL if it can
--   text        VARCHAR   only where StringIds does not hold it
WITH
_spoken AS (
    SELECT
        *,
        plain_text(text) AS plain,
        coalesce(end_ns IS NULL OR (end_ns IN (0, -1) AND start_ns > 0), false) AS unclosed
    FROM _raw_nvtx
)

SELECT
    _spoken.start_ns,
    _spoken.end_ns,
    coalesce(_spoken.event_type, 59) AS event_type,
    _spoken.thread,
    _spoken.end_thread,
    coalesce(_spoken.domain, 0) AS domain,
    coalesce(text_id(_spoken.plain), _text.name_id, _spoken.text_id) AS name_id,
    coalesce(is_framework(_spoken.text), _text.framework, false) AS framework,
    _spoken.unclosed AS open,
    CASE
        WHEN _spoken.unclosed THEN CASE WHEN _spoken.start_ns IS NULL THEN 'no_timestamp' END
        ELSE time_fault(_spoken.start_ns, _spoken.end_ns, $limit_ns)
    END AS fault,
    _spoken.plain AS text
FROM _spoken
LEFT JOIN _text ON _spoken.text_id = _text.id
