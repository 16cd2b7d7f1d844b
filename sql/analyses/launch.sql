-- launch: graph launches, and the pace of the launching thread against the kernels.
--
-- Question: can the host keep up with the GPU?
-- Grain:    one row
-- Needs:    owned_api, owned_op, launch_pace, string
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

_launch AS (
    SELECT
        a.start_ns,
        a.end_ns
    FROM owned_api AS a
    SEMI JOIN _graph AS g ON a.name_id = g.id
    QUALIFY is_outermost(a.thread, a.start_ns, a.end_ns, a.name_id)
),

_call AS (
    SELECT
        count(*) AS graph_launches,
        coalesce(sum(end_ns - start_ns), 0)::BIGINT AS graph_launch_ns
    FROM _launch
)

SELECT
    c.graph_launches,
    c.graph_launch_ns,
    (SELECT count(*) FROM owned_op WHERE kind = 'kernel' AND graph_node IS NOT NULL) AS kernels_in_graphs,
    p.interval_ns,
    p.kernel_ns
FROM _call AS c
CROSS JOIN launch_pace AS p
