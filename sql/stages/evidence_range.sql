-- evidence_range: NVTX ranges whose text says what the host is busy with.
--
-- Question: which annotated activity holds the host up?
-- Grain:    one row per closed range
-- Needs:    nvtx, string
-- Params:
--   $process         BIGINT   the lane's process
--   $user_checkpoint VARCHAR  the user's patterns, each NULL or asked before the shipped one
--   $user_eval       VARCHAR  the same
--   $user_loader     VARCHAR  the same
--   $user_logging    VARCHAR  the same
-- Columns:
--   thread    BIGINT   thread
--   cause     VARCHAR  cause
--   start_ns  BIGINT   push
--   end_ns    BIGINT   pop
--   name_id   BIGINT   text
WITH
_text AS (
    SELECT
        id AS name_id,
        value,
        CASE
            WHEN regexp_matches(value, $user_checkpoint) THEN 'checkpoint'
            WHEN regexp_matches(value, $user_eval) THEN 'eval'
            WHEN regexp_matches(value, $user_loader) THEN 'data_loading'
            WHEN regexp_matches(value, $user_logging) THEN 'logging'
        END AS user_cause,
        CASE
            WHEN
                regexp_matches(
                    value,
                    '(?i)(save_?(checkpoint|model|state)|checkpoint[ _.:]?(save|write|io)|torch\.save)'
                )
                THEN 'checkpoint'
            WHEN
                regexp_matches(
                    value,
                    '(?i)^(eval|evaluat(e|ion)|validat(e|ion)|val|test)([ _.:#-]?(step|epoch|loop|[0-9]).*)?$'
                )
                THEN 'eval'
            WHEN
                regexp_matches(
                    value,
                    '(?i)(torch_?dynamo|dynamo.*(compil|convert)|inductor.*compil|compile_fx'
                    || '|triton.*(compil|autotun)|XlaCompile|\bjit[ _]compil)'
                )
                THEN 'jit_or_load'
            WHEN
                regexp_matches(
                    value,
                    '(?i)(dataloader|data_loader|next_batch|get_batch|load_batch|fetch_batch|_next_data)'
                )
                THEN 'data_loading'
            WHEN regexp_matches(value, '(?i)\bgc([._ :]?collect\w*)?\b') THEN 'gc'
            WHEN regexp_matches(value, '(?i)\b(store[._ :]?(wait|get)|tcpstore|barrier)\b') THEN 'comm_host'
            WHEN regexp_matches(value, '(?i)waiting for gil') THEN 'gil_wait'
            WHEN
                regexp_matches(
                    value, '(?i)(\blogg(ing|er)\b|\blog_metrics\b|wandb|tensorboard|mlflow)'
                )
                THEN 'logging'
        END AS shipped_cause
    FROM string
    WHERE id IN (SELECT name_id FROM nvtx WHERE process = $process)
),

_cause AS (
    SELECT
        *,
        regexp_matches(value, '^(aten::|autograd::|FSDP::|torch::|c10d::|CheckpointFunction)') AS op_name
    FROM _text
    WHERE user_cause IS NOT NULL OR shipped_cause IS NOT NULL
)

SELECT
    n.thread,
    coalesce(c.user_cause, c.shipped_cause) AS cause,
    n.start_ns,
    n.end_ns,
    n.name_id
FROM nvtx AS n
INNER JOIN _cause AS c ON n.name_id = c.name_id
WHERE
    n.process = $process
    AND n.kind IN ('push_pop', 'start_end')
    AND n.end_ns IS NOT NULL
    AND (n.end_thread IS NULL OR n.end_thread = n.thread)
    -- Names of framework ops hold words such as checkpoint without saving one.
    AND (c.user_cause IS NOT NULL OR NOT (coalesce(n.framework, FALSE) OR c.op_name))
