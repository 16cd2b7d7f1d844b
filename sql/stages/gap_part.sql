-- gap_part: idle time by gap and cause, in parts that may still be taken from each other.
--
-- Question: why was the GPU idle?
-- Grain:    one row per claim, and per launching and queued part of a gap
-- Needs:    gap, host_claim, cause, queued_part
-- Columns:
--   gap    INTEGER  as gap
--   step   INTEGER  as gap
--   cause  VARCHAR  cause
--   ns     BIGINT   idle time; the causes of a gap sum to its length
SELECT
    h.gap,
    h.step,
    c.cause,
    h.end_ns - h.start_ns AS ns
FROM host_claim AS h
INNER JOIN cause AS c ON h.place = c.place
UNION ALL
SELECT
    gap,
    step,
    CASE WHEN same_graph THEN 'graph_internal_gap' ELSE 'launch_latency' END,
    launch_until_ns - host_until_ns
FROM gap
WHERE launch_until_ns > host_until_ns
UNION ALL
-- What the launching call holds besides launching was claimed above.
SELECT
    h.gap,
    h.step,
    CASE WHEN g.same_graph THEN 'graph_internal_gap' ELSE 'launch_latency' END,
    h.start_ns - h.end_ns
FROM host_claim AS h
INNER JOIN gap AS g ON h.gap = g.gap
WHERE h.in_call
UNION ALL
SELECT
    gap,
    step,
    cause,
    end_ns - start_ns
FROM queued_part
