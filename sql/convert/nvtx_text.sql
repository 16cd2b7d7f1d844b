-- nvtx_text: the texts that annotations carried themselves, each once.
--
-- Question: which texts does StringIds lack?
-- Grain:    one row per text
-- Needs:    _nvtx, _text
-- Params:
-- Columns:
--   id     BIGINT
--   value  VARCHAR
SELECT
    name_id AS id,
    -- Two texts of one id would be a collision of 63-bit hashes; then one name stands for both.
    min(text) AS value
FROM _nvtx
WHERE text IS NOT NULL
GROUP BY name_id
UNION
SELECT
    name_id AS id,
    min(plain) AS value
FROM _text
WHERE plain IS NOT NULL
GROUP BY name_id
