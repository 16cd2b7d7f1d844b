-- kernel_chains: runs of kernels that only move bytes, one after another on a stream.
--
-- Question: which kernels could be one?
-- Grain:    one row per length, first and last kernel of a run, the costliest first
-- Needs:    owned_op, kernel_name
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
_kernel AS (
    SELECT
        o.step,
        o.context,
        o.stream,
        o.start_ns,
        o.end_ns,
        o.correlation,
        o.name_id,
        n.class IN ('norm', 'rope', 'quant', 'activation', 'elementwise', 'copy') AS fusible
    FROM owned_op AS o
    INNER JOIN kernel_name AS n ON o.name_id = n.name_id
    WHERE o.kind = 'kernel'
),

-- Kernels with the same number of others before them on the stream stand in one run.
_marked AS (
    SELECT
        *,
        count(*) FILTER (WHERE NOT fusible) OVER (
            PARTITION BY step, context, stream
            ORDER BY start_ns, end_ns, correlation, name_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS run
    FROM _kernel
),

_run AS (
    SELECT
        arg_min(name_id, (start_ns, end_ns, correlation)) AS first_id,
        arg_max(name_id, (start_ns, end_ns, correlation)) AS last_id,
        count(*) AS length,
        sum(end_ns - start_ns)::BIGINT AS work_ns
    FROM _marked
    WHERE fusible
    GROUP BY step, context, stream, run
    HAVING count(*) > 1
),

_kind AS (
    SELECT
        first_id,
        last_id,
        length,
        count(*) AS count,
        sum(work_ns)::BIGINT AS work_ns
    FROM _run
    GROUP BY first_id, last_id, length
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
FROM _kind AS k
INNER JOIN kernel_name AS f ON k.first_id = f.name_id
INNER JOIN kernel_name AS l ON k.last_id = l.name_id
ORDER BY k.work_ns DESC, f.short_name, l.short_name, k.length, k.first_id, k.last_id
LIMIT $most
