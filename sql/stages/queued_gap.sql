-- queued_gap: idle time of ops that were queued for longer than the device's own turn-around.
--
-- Question: which queued ops did something hold?
-- Grain:    one row per gap
-- Needs:    gap, gap_cut, gap_next
-- Params:
--   $micro_ns BIGINT   queued gaps up to this are the device's own turn-around
-- Columns:
--   gap              BIGINT  as gap
--   start_ns         BIGINT  first queued instant
--   end_ns           BIGINT  the gap ends
--   idle_end_ns      BIGINT  as gap
--   context          BIGINT  context of the op that ends it
--   stream           BIGINT  its stream
--   launch_start_ns  BIGINT  its launching call
SELECT
    c.gap,
    c.launch_until_ns AS start_ns,
    c.end_ns,
    g.idle_end_ns,
    n.context,
    n.stream,
    n.launch_start_ns
FROM gap_cut AS c
INNER JOIN gap AS g ON c.gap = g.gap
INNER JOIN gap_next AS n ON c.gap = n.gap
WHERE c.end_ns > c.launch_until_ns AND c.queued_ns > $micro_ns AND NOT c.same_graph
ORDER BY c.launch_until_ns
