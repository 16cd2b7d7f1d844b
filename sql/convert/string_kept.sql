-- string_kept: the texts that may be kept.
--
-- Question: what does an id say?
-- Grain:    one row per id
-- Needs:    string, _private
-- Params:
-- Columns:
--   id     BIGINT
--   value  VARCHAR
SELECT
    id,
    -- A NUL ends a name.
    CASE WHEN contains(value, chr(0)) THEN split_part(value, chr(0), 1) ELSE value END AS value
FROM string
WHERE
    -- Captured output and files are texts of StringIds too; they are never copied.
    id NOT IN (SELECT id FROM _private)
    AND NOT (contains(value, chr(0)) AND contains(split_part(value, chr(0), 1), '='))
