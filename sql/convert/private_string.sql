-- private_string: texts that hold captured output or files.
--
-- Question: which texts must not be copied?
-- Grain:    one row per id
-- Needs:    _raw_output, _raw_file
-- Params:
-- Columns:
--   id  BIGINT
SELECT content_id AS id FROM _raw_output
WHERE content_id IS NOT NULL
UNION
SELECT content_id AS id FROM _raw_file
WHERE content_id IS NOT NULL
