-- text: the registered texts that are not their own name, or that a framework wrote.
--
-- Question: which texts of StringIds carry what emit_nvtx adds?
-- Grain:    one row per such string
-- Needs:    string
-- Params:
-- Columns:
--   id         BIGINT    in StringIds
--   name_id    BIGINT    of the text without the additions
--   framework  BOOLEAN
--   plain      VARCHAR   the text without the additions, NULL if it has none
SELECT
    id,
    CASE WHEN plain_text(value) = value THEN id ELSE text_id(plain_text(value)) END AS name_id,
    is_framework(value) AS framework,
    CASE WHEN plain_text(value) != value THEN plain_text(value) END AS plain
FROM string
WHERE plain_text(value) != value OR is_framework(value)
