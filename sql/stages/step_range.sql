-- step_range: the ranges behind those texts, outermost only.
--
-- Question: when was the host inside each possible step?
-- Grain:    one row per range
-- Needs:    step_text, nvtx, nvtx_domain
-- Params:
--   $process BIGINT   the lane's process
-- Columns:
--   source    VARCHAR  as step_text
--   series    VARCHAR  as step_text
--   family    VARCHAR  as step_text
--   role      VARCHAR  as step_text
--   domain    BIGINT   NVTX domain
--   thread    BIGINT   the thread that pushed it
--   start_ns  BIGINT   host time
--   end_ns    BIGINT   host time, NULL while open
--   number    VARCHAR  as step_text
--   lone      BOOLEAN  as step_text
WITH
_range AS (
    SELECT
        t.source,
        t.series,
        t.family,
        t.role,
        coalesce(n.domain, 0) AS domain,
        n.thread,
        n.start_ns,
        n.end_ns,
        t.number,
        t.lone
    FROM nvtx AS n
    INNER JOIN step_text AS t ON n.name_id = t.name_id
    LEFT JOIN nvtx_domain AS d ON n.process = d.process AND n.domain = d.domain
    WHERE
        n.process = $process
        AND n.kind IN ('push_pop', 'start_end')
        AND t.source NOT IN ('jax', 'inference')
        -- Libraries annotate their own loops in domains of their own.
        AND (t.source = 'user' OR coalesce(n.domain, 0) = 0 OR d.name IN ('deepspeed', 'PyTorch'))
),

_nested AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY source, series, domain, thread
            ORDER BY start_ns, end_ns DESC NULLS LAST, number
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS enclosed_until_ns
    FROM _range
)

SELECT
    source,
    series,
    family,
    role,
    domain,
    thread,
    start_ns,
    end_ns,
    number,
    lone
FROM _nested
-- A range inside another of its series (a recursive helper) is not a step of its own.
WHERE enclosed_until_ns IS NULL OR end_ns IS NULL OR end_ns > enclosed_until_ns
ORDER BY source, series, domain, thread, start_ns, end_ns, number
