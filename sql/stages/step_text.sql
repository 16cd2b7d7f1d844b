-- step_text: NVTX texts of the process that may name a training step or a part of one.
--
-- Question: which annotations could be steps?
-- Grain:    one row per text
-- Needs:    nvtx, string
-- Params:
--   $process    BIGINT   the lane's process
--   $step_range VARCHAR  the user's pattern, or NULL
-- Columns:
--   name_id  BIGINT   the text
--   source   VARCHAR  user, nvtx_step, framework or optimizer_range; jax and inference to refuse
--   series   VARCHAR  the text with every number written N; the pattern itself for the user's
--   number   VARCHAR  the first number in the text, or NULL
--   lone     BOOLEAN  one range is enough to be a step
--   family   VARCHAR  which framework, NULL for the other sources
--   role     VARCHAR  step: the range is one; unit: it begins one or a part of one; end: it ends one
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
            -- Lightning's profiler, DeepSpeed's decorated engine, Megatron's decorated functions.
            WHEN starts_with(value, '[pl][profile]run_training_batch') THEN 'framework lightning step'
            WHEN regexp_full_match(value, '\[pl\]\[profile\].*\.training_step') THEN 'framework lightning unit'
            WHEN regexp_full_match(value, '\[pl\]\[profile\].*[.\]]optimizer_step')
                THEN 'framework lightning end'
            WHEN value = 'DeepSpeedEngine.forward' THEN 'framework deepspeed unit'
            WHEN regexp_full_match(value, 'DeepSpeedEngine\.(step|_take_model_step)')
                THEN 'framework deepspeed end'
            WHEN regexp_full_match(value, '(?:[A-Za-z_]\w*\.)+train_step') THEN 'framework megatron step'
            WHEN regexp_full_match(value, '(?:[A-Za-z_]\w*\.)*schedules\.forward_backward_\w+(\.warmup)?')
                THEN 'framework megatron unit'
            WHEN
                regexp_matches(value, 'Optimizer\.step#.*\.step')
                OR regexp_full_match(value, '(?i)(?:.*[^a-z_])?optimizer[_.]?step')
                THEN 'optimizer_range  end'
            WHEN regexp_matches(value, '^TSL:(XlaModule|Thunk):#') THEN 'jax'
            -- TensorRT-LLM's executor; vLLM's scopes.
            WHEN
                regexp_matches(
                    value,
                    '^\[Executor\] _forward_step \d+: \d+ ctx reqs, \d+ gen reqs'
                    || '|^gpu_model_runner: |^execute_context_\d+\(\d+\)_generation_'
                )
                THEN 'inference'
        END AS found
    FROM _text
),

_part AS (
    SELECT
        *,
        split_part(found, ' ', 1) AS source,
        nullif(split_part(found, ' ', 2), '') AS family,
        coalesce(nullif(split_part(found, ' ', 3), ''), 'step') AS role
    FROM _source
    WHERE found IS NOT NULL
)

SELECT
    name_id,
    source,
    -- Whatever the user's pattern finds is one series; the shipped ones must agree but for numbers.
    CASE WHEN source = 'user' THEN $step_range ELSE regexp_replace(value, '\d+', 'N', 'g') END AS series,
    nullif(regexp_extract(value, '\d+'), '') AS number,
    source = 'user' OR regexp_matches(value, '(?i)ProfilerStep\s*#\s*\d+') AS lone,
    family,
    role
FROM _part
