-- kernel_shapes: the launch shapes of the kernels that matter, and how even their durations are.
--
-- Question: which kernels leave part of the GPU idle, or take longer at one time than at another?
-- Grain:    one row per kernel name and launch shape, of names above a hundredth of the window
-- Needs:    owned_op, kernel_name
-- Params:
--   $least_ns BIGINT   least work of a name
--   $most     INTEGER  shapes listed
-- Columns:
--   name          VARCHAR  full name
--   short_name    VARCHAR  name without template arguments
--   class         VARCHAR  class
--   grid          BIGINT   blocks
--   block         INTEGER  threads of a block
--   registers     INTEGER  registers of a thread
--   shared_bytes  INTEGER  shared memory of a block
--   count         BIGINT   kernels
--   work_ns       BIGINT   summed durations: work, not wall time
--   steps         BIGINT   kept steps that ran it
--   mean_ns       DOUBLE   mean over the steps of the mean duration in a step
--   spread_ns     DOUBLE   standard deviation over the steps of that
--   total         BIGINT   how many shapes there are
WITH
_step AS (
    SELECT
        name_id,
        grid,
        block,
        registers,
        shared_bytes,
        step,
        count(*) AS count,
        sum(end_ns - start_ns)::BIGINT AS work_ns
    FROM owned_op
    WHERE kind = 'kernel' AND NOT comm
    GROUP BY name_id, grid, block, registers, shared_bytes, step
),

_large AS (
    SELECT name_id
    FROM _step
    GROUP BY name_id
    HAVING sum(work_ns) > $least_ns
),

_shape AS (
    SELECT
        name_id,
        grid,
        block,
        registers,
        shared_bytes,
        sum(count)::BIGINT AS count,
        sum(work_ns)::BIGINT AS work_ns,
        count(step) AS steps,
        avg(work_ns / count) AS mean_ns,
        stddev_pop(work_ns / count) AS spread_ns
    FROM _step
    WHERE name_id IN (SELECT name_id FROM _large)
    GROUP BY name_id, grid, block, registers, shared_bytes
)

SELECT
    n.name,
    n.short_name,
    n.class,
    s.* EXCLUDE (name_id),
    count(*) OVER () AS total
FROM _shape AS s
INNER JOIN kernel_name AS n ON s.name_id = n.name_id
ORDER BY s.work_ns DESC, n.name, s.grid, s.block, s.registers, s.shared_bytes
LIMIT $most
