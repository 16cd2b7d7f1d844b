-- timeline_range: the two outermost levels of the launching threads' ranges, the steps' own left out.
--
-- Question: which parts of the program was the host in?
-- Grain:    one row per closed range of depth 1 or 2
-- Needs:    timeline_near, nvtx_domain, timeline_host, step_text
-- Params:
--   $source   VARCHAR  source of the steps
--   $series   VARCHAR  their pattern
-- Columns:
--   range     BIGINT   number
--   thread    BIGINT   thread
--   depth     INTEGER  1 for a range that nothing else encloses
--   name_id   BIGINT   text
--   start_ns  BIGINT   push
--   end_ns    BIGINT   pop
-- Ranges of one thread and depth do not overlap. What a framework or a library annotated counts only
-- on a thread where nobody else did: beside a person's own phases it is noise. A range around a whole
-- step (an epoch, the loop) tells no part of the step from another.
WITH
_step AS (
    SELECT name_id
    FROM step_text
    WHERE source = $source AND series = $series AND source IN ('user', 'nvtx_step', 'framework')
),

_library AS (
    SELECT
        process,
        domain
    FROM nvtx_domain
    WHERE regexp_full_match(name, '(?i)nccl|cccl|cu[a-z]+')
),

_closed AS (
    SELECT
        n.thread,
        n.name_id,
        n.start_ns,
        n.end_ns,
        NOT coalesce(n.framework, FALSE) AND l.domain IS NULL AS own
    FROM timeline_near AS n
    LEFT JOIN _library AS l ON n.process = l.process AND coalesce(n.domain, 0) = l.domain
    ANTI JOIN _step AS s ON n.name_id = s.name_id
    ANTI JOIN timeline_host AS h ON n.start_ns <= h.start_ns AND n.end_ns >= h.end_ns
),

_range AS (
    SELECT
        thread,
        name_id,
        start_ns,
        end_ns
    FROM _closed
    QUALIFY own OR NOT bool_or(own) OVER (PARTITION BY thread)
),

_outer AS (
    SELECT
        *,
        coalesce(
            start_ns >= max(end_ns) OVER (
                PARTITION BY thread ORDER BY start_ns, end_ns DESC, name_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), TRUE
        ) AS outermost
    FROM _range
),

_inner AS (
    SELECT *
    FROM _outer
    WHERE NOT outermost
    QUALIFY
        coalesce(
            start_ns >= max(end_ns) OVER (
                PARTITION BY thread ORDER BY start_ns, end_ns DESC, name_id
                ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
            ), TRUE
        )
),

_both AS (
    SELECT
        *,
        1 AS depth
    FROM _outer
    WHERE outermost
    UNION ALL
    SELECT
        *,
        2 AS depth
    FROM _inner
)

SELECT
    row_number() OVER (ORDER BY thread, depth, start_ns) AS range,
    thread,
    depth,
    name_id,
    start_ns,
    end_ns
FROM _both
ORDER BY range
