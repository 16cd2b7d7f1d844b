-- queued_part: idle time of ops that were queued, by what held them.
--
-- Question: what held an op that the host had asked for?
-- Grain:    one row per stretch of a gap
-- Needs:    gap, queued_claim
-- Params:
--   $micro_ns BIGINT   queued gaps up to this are the device's own turn-around
-- Columns:
--   gap       BIGINT   as gap
--   step      INTEGER  as gap
--   cause     VARCHAR  cause
--   start_ns  BIGINT   first queued instant
--   end_ns    BIGINT   first instant after
SELECT
    gap,
    step,
    CASE
        WHEN same_graph THEN 'graph_internal_gap'
        -- The limit is itself the length of such a gap.
        WHEN queued_ns <= $micro_ns THEN 'micro_gap'
        ELSE 'queued_unexplained'
    END AS cause,
    launch_until_ns AS start_ns,
    end_ns
FROM gap
WHERE end_ns > launch_until_ns AND gap NOT IN (SELECT gap FROM queued_claim)
UNION ALL
SELECT
    c.gap,
    g.step,
    c.cause,
    c.start_ns,
    c.end_ns
FROM queued_claim AS c
INNER JOIN gap AS g ON c.gap = g.gap
