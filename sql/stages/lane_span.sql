-- lane_span: when the lane's device work begins and ends, and how much of it there is.
--
-- Question: what does the capture hold of this lane?
-- Grain:    one row
-- Needs:    lane_op
-- Columns:
--   start_ns     BIGINT   first device start, ops of zero length left out
--   end_ns       BIGINT   last device end
--   ops          BIGINT   rows with a duration
--   kernels      BIGINT   kernel rows
--   memcpys      BIGINT   copies
--   memsets      BIGINT   sets
--   graph_rows   BIGINT   whole-graph rows
--   launched     BIGINT   rows whose launching call was recorded
--   out_of_order BIGINT   rows that begin before the row above them: must be 0
WITH
_op AS (
    SELECT
        *,
        lag(start_ns) OVER () AS previous_ns
    FROM lane_op
)

SELECT
    min(start_ns) FILTER (WHERE end_ns > start_ns) AS start_ns,
    max(end_ns) FILTER (WHERE end_ns > start_ns) AS end_ns,
    count(*) FILTER (WHERE end_ns > start_ns) AS ops,
    count(*) FILTER (WHERE kind = 'kernel') AS kernels,
    count(*) FILTER (WHERE kind = 'memcpy') AS memcpys,
    count(*) FILTER (WHERE kind = 'memset') AS memsets,
    count(*) FILTER (WHERE kind = 'graph') AS graph_rows,
    count(launch_start_ns) AS launched,
    count(*) FILTER (WHERE start_ns < previous_ns) AS out_of_order
FROM _op
