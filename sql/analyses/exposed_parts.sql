-- exposed_parts: exposed communication of the kept steps, by whether removing it would help.
--
-- Question: would the GPU compute if this communication were gone?
-- Grain:    one row
-- Needs:    exposed_comm_part
-- Columns:
--   gated_ns      BIGINT  the next kernel had been asked for
--   host_late_ns  BIGINT  the host was late as well
SELECT
    coalesce(sum(end_ns - start_ns) FILTER (WHERE gated), 0)::BIGINT AS gated_ns,
    coalesce(sum(end_ns - start_ns) FILTER (WHERE NOT gated), 0)::BIGINT AS host_late_ns
FROM exposed_comm_part
