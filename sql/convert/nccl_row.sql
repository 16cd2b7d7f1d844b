-- nccl_row: NCCL's ranges with what they carry.
--
-- Question: what does NCCL say of its own calls?
-- Grain:    one row per range of a known call
-- Needs:    _raw_nccl, _nccl_name, nvtx_domain
-- Params:
-- Columns:
--   thread    BIGINT
--   start_ns  BIGINT
--   end_ns    BIGINT
--   op        VARCHAR
--   payload   BLOB
--   json      VARCHAR
SELECT
    _raw_nccl.thread,
    _raw_nccl.start_ns,
    CASE WHEN _raw_nccl.end_ns >= _raw_nccl.start_ns THEN _raw_nccl.end_ns END AS end_ns,
    _nccl_name.op,
    _raw_nccl.payload,
    _raw_nccl.json
FROM _raw_nccl
LEFT JOIN _text ON _raw_nccl.text_id = _text.id
INNER JOIN _nccl_name
    ON
        _raw_nccl.domain = _nccl_name.domain
        AND coalesce(text_id(plain_text(_raw_nccl.text)), _text.name_id, _raw_nccl.text_id) = _nccl_name.name_id
LEFT JOIN nvtx_domain ON process_of(_raw_nccl.thread) = nvtx_domain.process AND _raw_nccl.domain = nvtx_domain.domain
WHERE
    coalesce(_raw_nccl.event_type, 59) IN (59, 60, 34)
    AND _raw_nccl.start_ns IS NOT NULL
    -- A domain number means something else in another process.
    AND (nvtx_domain.name = 'NCCL' OR (_nccl_name.legacy AND nvtx_domain.name IS NULL))
