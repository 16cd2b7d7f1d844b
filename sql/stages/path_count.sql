-- path_count: how many ranges of the kept steps there are at each place.
--
-- Question: how often was the program here?
-- Grain:    one row per path
-- Needs:    path_counted
-- Columns:
--   path     BIGINT  path
--   count    BIGINT  closed ranges
--   open     BIGINT  ranges that never end
--   host_ns  BIGINT  summed length of the closed ones
SELECT
    path,
    sum(count)::BIGINT AS count,
    sum(open)::BIGINT AS open,
    sum(host_ns)::BIGINT AS host_ns
FROM path_counted
GROUP BY path
ORDER BY path
