-- os_calls: the kept steps' operating-system calls by name.
--
-- Question: which operating-system calls do the threads spend their time in?
-- Grain:    one row per name, the costliest first
-- Needs:    owned_os_call, string
-- Params:
--   $most INTEGER   names listed
-- Columns:
--   name       VARCHAR  name without the ABI suffix of the runtime
--   count      BIGINT   calls
--   total_ns   BIGINT   summed durations over all threads: not wall time
--   median_ns  BIGINT   middle duration, the middle two averaged
--   min_ns     BIGINT   shortest
--   max_ns     BIGINT   longest
--   total      BIGINT   how many names there are
SELECT
    *,
    count(*) OVER () AS total
FROM call_times('owned_os_call')
ORDER BY total_ns DESC, name
LIMIT $most
