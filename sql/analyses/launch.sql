-- launch: graph launches, and the pace of the launching thread against the kernels.
--
-- Question: can the host keep up with the GPU?
-- Grain:    one row
-- Needs:    owned_op, owned_api, string
-- Columns:
--   graph_launches     BIGINT  calls that replay a graph
--   graph_launch_ns    BIGINT  their summed length
--   kernels_in_graphs  BIGINT  kernels that graph replays ran
--   interval_ns        DOUBLE  median time between launches of one thread
--   kernel_ns          DOUBLE  median duration of the kernels launched one by one
WITH
_graph AS (
    SELECT id
    FROM string
    WHERE regexp_matches(value, '^cu(da)?GraphLaunch')
),

_call AS (
    SELECT
        count(*) AS graph_launches,
        coalesce(sum(a.end_ns - a.start_ns), 0)::BIGINT AS graph_launch_ns
    FROM owned_api AS a
    SEMI JOIN _graph AS g ON a.name_id = g.id
),

_kernel AS (
    SELECT
        launch_thread,
        launch_start_ns,
        step,
        end_ns - start_ns AS dur_ns
    FROM owned_op
    WHERE kind = 'kernel' AND graph_node IS NULL AND launch_start_ns IS NOT NULL
),

_interval AS (
    SELECT
        dur_ns,
        -- Between steps the thread does other things.
        launch_start_ns - lag(launch_start_ns) OVER (
            PARTITION BY launch_thread, step ORDER BY launch_start_ns
        ) AS interval_ns
    FROM _kernel
)

SELECT
    any_value(c.graph_launches) AS graph_launches,
    any_value(c.graph_launch_ns) AS graph_launch_ns,
    (SELECT count(*) FROM owned_op WHERE kind = 'kernel' AND graph_node IS NOT NULL) AS kernels_in_graphs,
    median(i.interval_ns) AS interval_ns,
    median(i.dur_ns) AS kernel_ns
FROM _call AS c
LEFT JOIN _interval AS i ON TRUE
