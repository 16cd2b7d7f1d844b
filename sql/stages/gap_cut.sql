-- gap_cut: each gap in three: host late, call under way, queued.
--
-- Question: had the next op been asked for when the GPU fell idle?
-- Grain:    one row per gap
-- Needs:    gap, gap_next
-- Columns:
--   gap              BIGINT   as gap
--   step             INTEGER  as gap
--   thread           BIGINT   launching thread of the next op
--   start_ns         BIGINT   the gap begins: host late from here
--   host_until_ns    BIGINT   the launching call begins: launch latency from here
--   launch_until_ns  BIGINT   the op is queued: the device or a dependency holds it from here
--   end_ns           BIGINT   the gap ends
--   idle_start_ns    BIGINT   as gap
--   queued_ns        BIGINT   length of the queued part of the whole idle stretch
--   same_stream      BOOLEAN  as gap_next
--   same_graph       BOOLEAN  as gap_next
--   launch_recorded  BOOLEAN  whether the launching call is known
--   call_ns          BIGINT   length of the launching call
--   first_launch     BOOLEAN  as gap_next
--   launch_start_ns  BIGINT   as gap_next
SELECT
    g.gap,
    g.step,
    n.thread,
    g.start_ns,
    CASE
        WHEN n.launch_start_ns IS NULL THEN g.end_ns
        ELSE least(greatest(n.launch_start_ns, g.start_ns), g.end_ns)
    END AS host_until_ns,
    CASE
        WHEN n.launch_start_ns IS NULL OR n.launch_start_ns >= g.idle_start_ns THEN g.end_ns
        -- A call that still runs has not queued its op yet.
        ELSE least(greatest(n.launch_end_ns, g.start_ns), g.end_ns)
    END AS launch_until_ns,
    g.end_ns,
    g.idle_start_ns,
    CASE
        WHEN n.launch_start_ns < g.idle_start_ns
            THEN g.idle_end_ns - greatest(g.idle_start_ns, least(n.launch_end_ns, g.idle_end_ns))
        ELSE 0
    END AS queued_ns,
    n.same_stream,
    n.same_graph,
    n.launch_start_ns IS NOT NULL AS launch_recorded,
    n.launch_end_ns - n.launch_start_ns AS call_ns,
    n.first_launch,
    n.launch_start_ns
FROM gap AS g
INNER JOIN gap_next AS n ON g.gap = n.gap
ORDER BY g.gap
