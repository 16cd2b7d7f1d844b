-- kernel_string: the names of the kernels that ran.
--
-- Question: what are the kernels called?
-- Grain:    one row per full name
-- Needs:    _op, string
-- Params:
-- Columns:
--   name_id     BIGINT
--   name        VARCHAR
--   short_name  VARCHAR
WITH
_named AS (
    SELECT
        name_id,
        -- Two kernels may share their full name only if it was not recorded.
        min(short_id) AS short_id,
        CASE WHEN name_id = -1 THEN '(unnamed kernel)' ELSE '(unnamed kernel ' || name_id || ')' END AS instead
    FROM _op
    WHERE kind = 'kernel' AND fault IS NULL AND name_id IS NOT NULL
    GROUP BY name_id
)

SELECT
    _named.name_id,
    coalesce(_full.value, _short.value, _named.instead) AS name,
    coalesce(_short.value, _full.value, _named.instead) AS short_name
FROM _named
LEFT JOIN string AS _full ON _named.name_id = _full.id
LEFT JOIN string AS _short ON _named.short_id = _short.id
