-- island: stretches in which communication, or copies, are hidden.
--
-- Question: when would a copy or a collective cost nothing?
-- Grain:    one row per stretch
-- Needs:    coverage
-- Columns:
--   state       VARCHAR  comm: compute or an opaque graph runs; mem: those or communication
--   start_ns    BIGINT   first instant
--   end_ns      BIGINT   first instant after
--   covered_ns  HUGEINT  length of the earlier stretches together
WITH
_begin AS (
    SELECT
        'comm' AS state,
        start_ns,
        cg_before_ns AS before_ns
    FROM coverage
    WHERE cg_ns > coalesce(cg_before_ns, cg_ns - 1) AND start_ns > coalesce(cg_before_ns, start_ns - 1)
    UNION ALL
    SELECT
        'mem',
        start_ns,
        cgn_before_ns
    FROM coverage
    WHERE cgn_ns > coalesce(cgn_before_ns, cgn_ns - 1) AND start_ns > coalesce(cgn_before_ns, start_ns - 1)
),

_last AS (
    SELECT
        max(cg_ns) AS cg_ns,
        max(cgn_ns) AS cgn_ns
    FROM coverage
),

_stretch AS (
    SELECT
        b.state,
        b.start_ns,
        coalesce(
            lead(b.before_ns) OVER (PARTITION BY b.state ORDER BY b.start_ns),
            CASE WHEN b.state = 'comm' THEN l.cg_ns ELSE l.cgn_ns END
        ) AS end_ns
    FROM _begin AS b
    CROSS JOIN _last AS l
)

SELECT
    *,
    coalesce(
        sum(end_ns - start_ns) OVER (
            PARTITION BY state ORDER BY start_ns ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ), 0
    ) AS covered_ns
FROM _stretch
ORDER BY state, start_ns
