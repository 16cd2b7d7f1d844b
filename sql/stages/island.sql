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
_comm AS (
    SELECT
        start_ns,
        cg_before_ns AS before_ns
    FROM coverage
    WHERE cg_ns > coalesce(cg_before_ns, cg_ns - 1) AND start_ns > coalesce(cg_before_ns, start_ns - 1)
),

_mem AS (
    SELECT
        start_ns,
        cgn_before_ns AS before_ns
    FROM coverage
    WHERE cgn_ns > coalesce(cgn_before_ns, cgn_ns - 1) AND start_ns > coalesce(cgn_before_ns, start_ns - 1)
),

_stretch AS (
    SELECT
        'comm' AS state,
        start_ns,
        -- Stretches come by time: one ends where the coverage stood as the next began.
        coalesce(lead(before_ns) OVER (), (SELECT max(cg_ns) FROM coverage)) AS end_ns
    FROM _comm
    UNION ALL
    SELECT
        'mem' AS state,
        start_ns,
        coalesce(lead(before_ns) OVER (), (SELECT max(cgn_ns) FROM coverage)) AS end_ns
    FROM _mem
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
