-- step_text: NVTX texts of the process that may name a training step.
--
-- Question: which annotations could be steps?
-- Grain:    one row per text
-- Needs:    nvtx, string
-- Params:
--   $process    BIGINT   the lane's process
--   $step_range VARCHAR  the user's pattern, or NULL
-- Columns:
--   name_id  BIGINT   the text
--   source   VARCHAR  user, nvtx_step, framework or optimizer_range
--   series   VARCHAR  the text with every number written N; the pattern itself for the user's
--   number   VARCHAR  the first number in the text, or NULL
--   lone     BOOLEAN  one range is enough to be a step
WITH
_text AS (
    SELECT
        id AS name_id,
        value
    FROM string
    WHERE id IN (SELECT name_id FROM nvtx WHERE process = $process)
),

_source AS (
    SELECT
        name_id,
        value,
        CASE
            WHEN $step_range IS NOT NULL AND regexp_matches(value, $step_range) THEN 'user'
            WHEN
                regexp_full_match(
                    value,
                    '(?i)(?:(?:train(?:ing)?[ _]?)?(?:step|iteration|iter|global_step|batch)[ _#:=\[]*'
                    || '|ProfilerStep\s*#\s*)\d+\s*(?:(?:to|of|/)\s*\d+)?\s*\]?\s*'
                )
                THEN 'nvtx_step'
            WHEN
                regexp_matches(value, 'Optimizer\.step#.*\.step')
                OR regexp_full_match(value, '(?i)(?:.*[^a-z_])?optimizer[_.]?step')
                THEN 'optimizer_range'
        END AS source
    FROM _text
)

SELECT
    name_id,
    source,
    -- Whatever the user's pattern finds is one series; the shipped ones must agree but for numbers.
    CASE WHEN source = 'user' THEN $step_range ELSE regexp_replace(value, '\d+', 'N', 'g') END AS series,
    nullif(regexp_extract(value, '\d+'), '') AS number,
    source = 'user' OR regexp_matches(value, '(?i)ProfilerStep\s*#\s*\d+') AS lone
FROM _source
WHERE source IS NOT NULL
