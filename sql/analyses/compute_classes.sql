-- compute_classes: compute time of the kept steps by kernel class.
--
-- Question: what did the GPU compute?
-- Grain:    one row per class
-- Needs:    class_time
-- Columns:
--   class_rank  UTINYINT class
--   ns          BIGINT   time; an instant with several kernels counts for the first class in order
SELECT
    place AS class_rank,
    sum(time_ns)::BIGINT AS ns
FROM class_time
GROUP BY place
ORDER BY place
