-- gaps: the longest idle stretches of the kept steps.
--
-- Question: when is the GPU idle, and what ends the wait?
-- Grain:    one row per gap, the longest first
-- Needs:    gap, gap_part, queued_claim, kernel_name, string
-- Params:
--   $most INTEGER   gaps listed
-- Columns:
--   start_ns  BIGINT   first idle instant
--   dur_ns    BIGINT   length inside the window
--   step      INTEGER  step
--   cause     VARCHAR  the cause with the largest part of it
--   next_op   VARCHAR  the op that ends it
--   launched  BOOLEAN  whether that op's launching call was recorded
--   behind    VARCHAR  the kernel behind the event that the op waited for, NULL if none is known
WITH
_longest AS (
    SELECT *
    FROM gap
    ORDER BY end_ns - start_ns DESC, start_ns
    LIMIT $most
),

_cause AS (
    SELECT
        p.gap,
        p.cause
    FROM gap_part AS p
    SEMI JOIN _longest AS g ON p.gap = g.gap
    GROUP BY p.gap, p.cause
    HAVING sum(p.ns) <> 0
    QUALIFY row_number() OVER (PARTITION BY p.gap ORDER BY sum(p.ns) DESC, p.cause) = 1
)

SELECT
    g.start_ns,
    g.end_ns - g.start_ns AS dur_ns,
    g.step,
    c.cause,
    CASE
        WHEN g.next_kind = 0 THEN coalesce(k.short_name, k.name)
        ELSE ['memcpy', 'memset', 'graph'][g.next_kind]
    END AS next_op,
    g.launch_recorded AS launched,
    coalesce(w.short_name, w.name) AS behind
FROM _longest AS g
LEFT JOIN kernel_name AS k ON g.next_name_id = k.name_id
LEFT JOIN _cause AS c ON g.gap = c.gap
LEFT JOIN queued_claim AS q ON g.gap = q.gap AND q.name_id <> -1
LEFT JOIN kernel_name AS w ON q.name_id = w.name_id
ORDER BY dur_ns DESC, g.start_ns
