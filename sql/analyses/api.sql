-- api: the kept steps' CUDA calls by name.
--
-- Question: which CUDA calls does the host spend its time in?
-- Grain:    one row per name, the costliest first
-- Needs:    owned_api, string
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
FROM call_times('owned_api')
ORDER BY total_ns DESC, name
LIMIT $most
