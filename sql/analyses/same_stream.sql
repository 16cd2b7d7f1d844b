-- same_stream: exposed communication on streams that also compute.
--
-- Question: is communication where nothing can hide it?
-- Grain:    one row
-- Needs:    exposed, stream_work
-- Columns:
--   exposed_ns  BIGINT  exposed time of the kept steps owned by ops on such streams
SELECT coalesce(sum(e.exposed_ns), 0)::BIGINT AS exposed_ns
FROM exposed AS e
INNER JOIN stream_work AS s
    ON e.stream IS NOT DISTINCT FROM s.stream AND e.context IS NOT DISTINCT FROM s.context
WHERE e.state = 'comm' AND s.compute_sum > 0
