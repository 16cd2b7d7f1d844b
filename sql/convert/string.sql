-- string: every text of StringIds, private ones included until they are deleted.
--
-- Question: what does an id say?
-- Grain:    one row per id
-- Needs:    _raw_string
-- Params:
-- Columns:
--   id     BIGINT
--   value  VARCHAR
SELECT
    id,
    min(value) AS value
FROM _raw_string
WHERE id IS NOT NULL AND value IS NOT NULL
GROUP BY id
