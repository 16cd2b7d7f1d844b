-- kernel_classes: the kept steps' kernels by class.
--
-- Question: what kind of work do the kernels do?
-- Grain:    one row per class
-- Needs:    owned_op
-- Columns:
--   class_rank UTINYINT place of the class in the claiming order; 255 is communication
--   count    BIGINT   kernels
--   work_ns  BIGINT   summed durations: work, not wall time
--   busy_ns  BIGINT   time in which a kernel of the class ran
WITH
_kernel AS (
    SELECT
        o.start_ns,
        o.end_ns,
        coalesce(o.class_rank, 255) AS class_rank
    FROM owned_op AS o
    WHERE o.kind = 'kernel'
),

_until AS (
    SELECT
        *,
        max(end_ns) OVER (
            PARTITION BY class_rank ORDER BY start_ns, end_ns
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS before_ns
    FROM _kernel
)

SELECT
    class_rank,
    count(*) AS count,
    sum(end_ns - start_ns)::BIGINT AS work_ns,
    sum(greatest(0, end_ns - greatest(start_ns, coalesce(before_ns, start_ns))))::BIGINT AS busy_ns
FROM _until
GROUP BY class_rank
ORDER BY work_ns DESC, class_rank
