-- step_series: possible series of steps, before asking what the GPU did for them.
--
-- Question: which ranges repeat one after another on a thread?
-- Grain:    one row per (source, series, domain, thread)
-- Needs:    step_range
-- Columns:
--   source    VARCHAR  as step_text
--   series    VARCHAR  as step_text
--   family    VARCHAR  as step_text
--   role      VARCHAR  as step_text
--   domain    BIGINT   NVTX domain
--   thread    BIGINT   thread
--   ranges    BIGINT   closed ranges
--   open      BIGINT   ranges that never end
--   lone      BOOLEAN  one range is enough
--   disjoint  BOOLEAN  no range begins before the one above it ends
--   host_ns   HUGEINT  summed length of the ranges
WITH
_range AS (
    SELECT
        *,
        lag(end_ns) OVER (
            PARTITION BY source, series, domain, thread ORDER BY start_ns, end_ns, number
        ) AS previous_end_ns
    FROM step_range
)

SELECT
    source,
    series,
    family,
    role,
    domain,
    thread,
    count(end_ns) AS ranges,
    count(*) - count(end_ns) AS open,
    bool_or(lone) AS lone,
    coalesce(bool_and(start_ns >= previous_end_ns), TRUE) AS disjoint,
    coalesce(sum(end_ns - start_ns), 0) AS host_ns
FROM _range
GROUP BY ALL
ORDER BY source, series, domain, thread
