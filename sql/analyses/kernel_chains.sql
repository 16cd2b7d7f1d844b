-- kernel_chains: runs of kernels that only move bytes, one after another on a stream.
--
-- Question: which kernels could be one?
-- Grain:    one row per length, first and last kernel of a run, the costliest first
-- Needs:    kernel_run, kernel_name
-- Params:
--   $most INTEGER   kinds of run listed
-- Columns:
--   first          VARCHAR  short name of the first kernel
--   last           VARCHAR  short name of the last
--   length         BIGINT   kernels of one run
--   count          BIGINT   runs
--   work_ns        BIGINT   summed durations of their kernels: work, not wall time
--   total          BIGINT   how many kinds of run there are
--   total_count    BIGINT   runs of all kinds
--   total_kernels  BIGINT   kernels in them
--   total_ns       BIGINT   their work
WITH
_name AS (
    SELECT
        short_name,
        row_number() OVER (ORDER BY name_id) - 1 AS name
    FROM kernel_name
)

SELECT
    f.short_name AS first,
    l.short_name AS last,
    k.length,
    k.count,
    k.work_ns,
    count(*) OVER () AS total,
    sum(k.count) OVER ()::BIGINT AS total_count,
    sum(k.count * k.length) OVER ()::BIGINT AS total_kernels,
    sum(k.work_ns) OVER ()::BIGINT AS total_ns
FROM kernel_run AS k
INNER JOIN _name AS f ON k.first = f.name
INNER JOIN _name AS l ON k.last = l.name
ORDER BY k.work_ns DESC, f.short_name, l.short_name, k.length, k.first, k.last
LIMIT $most
