-- callchain: where in the program a CUDA call was made.
--
-- Question: which code made this call?
-- Grain:    one row per frame, depth 0 innermost
-- Needs:    _raw_callchain
-- Params:
-- Columns:
--   id         BIGINT
--   depth      BIGINT
--   symbol_id  BIGINT
--   module_id  BIGINT
SELECT
    id,
    depth,
    symbol_id,
    module_id
FROM _raw_callchain
ORDER BY id, depth
