-- kernels: the kept steps' kernels by name.
--
-- Question: which kernels does the GPU spend its time in?
-- Grain:    one row per kernel name, the costliest first
-- Needs:    owned_op, kernel_name
-- Params:
--   $most INTEGER   names listed; the rest is one row
-- Columns:
--   name         VARCHAR  full name, or (other)
--   short_name   VARCHAR  name without template arguments
--   class        VARCHAR  class, comm included
--   tensor_core  VARCHAR  yes, no or unknown
--   count        BIGINT   kernels
--   work_ns      BIGINT   summed durations: work, not wall time
--   median_ns    BIGINT   middle duration, the middle two averaged
--   min_ns       BIGINT   shortest
--   max_ns       BIGINT   longest
--   total        BIGINT   how many names there are
WITH
-- Names of equal text are one kernel. They travel as the lowest of their ids.
_told AS (
    SELECT
        name_id,
        min(name_id) OVER (PARTITION BY name, short_name, class, tensor_core) AS told
    FROM kernel_name
),

_counted AS (
    SELECT
        name_id,
        end_ns - start_ns AS dur_ns,
        count(*) AS count
    FROM owned_op
    WHERE kind = 'kernel'
    GROUP BY name_id, dur_ns
),

_merged AS (
    SELECT
        t.told,
        c.dur_ns,
        sum(c.count)::BIGINT AS count
    FROM _counted AS c
    LEFT JOIN _told AS t ON c.name_id = t.name_id
    GROUP BY t.told, c.dur_ns
),

_upto AS (
    SELECT
        *,
        sum(count) OVER (PARTITION BY told ORDER BY dur_ns)::BIGINT AS upto,
        sum(count) OVER (PARTITION BY told)::BIGINT AS whole
    FROM _merged
),

_kernel AS (
    SELECT
        told,
        any_value(whole) AS count,
        sum(dur_ns * count)::BIGINT AS work_ns,
        middle_of(dur_ns, upto, whole) AS median_ns,
        min(dur_ns) AS min_ns,
        max(dur_ns) AS max_ns
    FROM _upto
    GROUP BY told
),

_name AS (
    SELECT
        n.name,
        n.short_name,
        n.class,
        n.tensor_core,
        k.* EXCLUDE (told)
    FROM _kernel AS k
    LEFT JOIN kernel_name AS n ON k.told = n.name_id
),

_ranked AS (
    SELECT
        *,
        count(*) OVER () AS total,
        row_number() OVER (ORDER BY work_ns DESC, name, short_name) AS place
    FROM _name
)

SELECT * EXCLUDE (place)
FROM (
    SELECT * FROM _ranked
    WHERE place <= $most
    UNION ALL
    SELECT
        '(other)',
        '(other)',
        'other',
        'unknown',
        sum(count)::BIGINT,
        sum(work_ns)::BIGINT,
        NULL,
        min(min_ns),
        max(max_ns),
        any_value(total),
        $most + 1
    FROM _ranked
    WHERE place > $most
    HAVING count(*) > 0
)
ORDER BY place
