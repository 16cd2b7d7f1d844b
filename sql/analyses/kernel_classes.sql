-- kernel_classes: the kept steps' kernels by class.
--
-- Question: what kind of work do the kernels do?
-- Grain:    one row per class
-- Needs:    class_work
-- Columns:
--   class_rank BIGINT  place of the class in the claiming order; 255 is communication
--   count    BIGINT   kernels
--   work_ns  BIGINT   summed durations: work, not wall time
--   busy_ns  BIGINT   time in which a kernel of the class ran
SELECT *
FROM class_work
ORDER BY work_ns DESC, class_rank
