-- queued_gap: idle time of ops that were queued for longer than the device's own turn-around.
--
-- Question: which queued ops did something hold?
-- Grain:    one row per gap
-- Needs:    gap
-- Params:
--   $micro_ns BIGINT   queued gaps up to this are the device's own turn-around
-- Columns:
--   gap              INTEGER as gap
--   start_ns         BIGINT  first queued instant
--   end_ns           BIGINT  the gap ends
--   idle_end_ns      BIGINT  as gap
--   context          BIGINT  context of the op that ends it
--   stream           BIGINT  its stream
--   launch_start_ns  BIGINT  its launching call
SELECT
    gap,
    launch_until_ns AS start_ns,
    end_ns,
    idle_end_ns,
    next_context AS context,
    next_stream AS stream,
    launch_start_ns
FROM gap
WHERE end_ns > launch_until_ns AND queued_ns > $micro_ns AND NOT same_graph
ORDER BY launch_until_ns
