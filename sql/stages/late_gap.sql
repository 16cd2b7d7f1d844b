-- late_gap: gaps with a host-late or launching part, for attribution.
--
-- Question: which idle time is the host to explain?
-- Grain:    one row per gap
-- Needs:    gap
-- Columns:
--   gap              INTEGER  as gap
--   step             INTEGER  as gap
--   thread           BIGINT   launching thread; -1 where nothing was ever launched
--   start_ns         BIGINT   as gap
--   host_until_ns    BIGINT   as gap
--   launch_until_ns  BIGINT   as gap
--   idle_start_ns    BIGINT   as gap
--   long_call        BOOLEAN  the launching call is too long to be only a launch
--   first_launch     BOOLEAN  as gap
--   launch_recorded  BOOLEAN  as gap
--   launch_start_ns  BIGINT   start of the launching call; the gap's end where it is not known
SELECT
    gap,
    step,
    coalesce(thread, -1) AS thread,
    start_ns,
    host_until_ns,
    launch_until_ns,
    idle_start_ns,
    long_call,
    first_launch,
    coalesce(launch_start_ns, end_ns) AS launch_start_ns,
    launch_recorded
FROM gap
WHERE launch_until_ns > start_ns
ORDER BY start_ns
