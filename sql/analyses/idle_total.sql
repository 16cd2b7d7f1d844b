-- idle_total: how many gaps there are.
--
-- Question: how long is the GPU idle in all?
-- Grain:    one row
-- Needs:    gap
-- Columns:
--   count     BIGINT  gaps
--   total_ns  BIGINT  their length
SELECT
    count(*) AS count,
    coalesce(sum(end_ns - start_ns), 0)::BIGINT AS total_ns
FROM gap
