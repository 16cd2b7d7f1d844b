-- gaps: the longest idle stretches of the kept steps.
--
-- Question: when is the GPU idle, and what ends the wait?
-- Grain:    one row per gap, the longest first
-- Needs:    gap, gap_next, gap_cut, gap_cause, queued_claim, kernel_name, string
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
)

SELECT
    g.start_ns,
    g.end_ns - g.start_ns AS dur_ns,
    g.step,
    c.cause,
    CASE
        WHEN n.kind = 'kernel' THEN coalesce(k.short_name, k.name)
        WHEN n.kind IS NULL THEN NULL
        ELSE n.kind
    END AS next_op,
    t.launch_recorded AS launched,
    coalesce(w.short_name, w.name) AS behind
FROM _longest AS g
LEFT JOIN gap_next AS n ON g.gap = n.gap
LEFT JOIN gap_cut AS t ON g.gap = t.gap
LEFT JOIN kernel_name AS k ON n.name_id = k.name_id
LEFT JOIN gap_cause AS c ON g.gap = c.gap AND c.place = 1
LEFT JOIN queued_claim AS q ON g.gap = q.gap AND q.name_id <> -1
LEFT JOIN kernel_name AS w ON q.name_id = w.name_id
ORDER BY dur_ns DESC, g.start_ns
