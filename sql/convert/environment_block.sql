-- environment_block: texts that look like the environment of a process.
--
-- Question: which texts may name the rank?
-- Grain:    one row per text
-- Needs:    string
-- Params:
-- Columns:
--   value  VARCHAR   NAME=value pairs, each ended by NUL
SELECT value
FROM string
WHERE contains(value, chr(0)) AND contains(split_part(value, chr(0), 1), '=')
ORDER BY id
LIMIT 10000
