-- nvtx_text: the texts that annotations carried themselves, each once.
--
-- Question: which texts does StringIds lack?
-- Grain:    one row per text
-- Needs:    _spoken, _text
-- Params:
-- Columns:
--   id     BIGINT
--   value  VARCHAR
WITH
_all AS (
    SELECT value FROM _spoken
    UNION ALL
    SELECT plain AS value FROM _text
)

SELECT
    text_id(value) AS id,
    -- Two texts of one id would be a collision of 63-bit hashes; then one name stands for both.
    min(value) AS value
FROM _all
WHERE value IS NOT NULL
GROUP BY text_id(value)
