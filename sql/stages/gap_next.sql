-- gap_next: the op that ends each gap, the one before it, and the call that asked for it.
--
-- Question: what was the GPU waiting for?
-- Grain:    one row per gap
-- Needs:    gap, lane_op, op
-- Params:
--   $context BIGINT   context of the primary stream
--   $stream  BIGINT   primary stream
--   $first_lane INTEGER  first lane of the process in its trace
--   $last_lane  INTEGER  its last lane; the lanes of a process are numbered together
-- Columns:
--   gap              BIGINT   as gap
--   name_id          BIGINT   kernel name of the next op
--   kind             VARCHAR  its kind
--   copy_kind        INTEGER  its direction, of a copy
--   thread           BIGINT   the launching thread
--   launch_start_ns  BIGINT   its launching call, NULL if not recorded
--   launch_end_ns    BIGINT   end of that call
--   same_stream      BOOLEAN  the op that ended as the gap began was on its stream
--   same_graph       BOOLEAN  and both are nodes of one graph launch
--   context          BIGINT   context of the next op
--   stream           BIGINT   its stream
--   first_launch     BOOLEAN  a long call, and no kernel of that name was launched before in the
--                             process
WITH

_exact AS (
    SELECT
        g.gap,
        o.name_id,
        o.kind,
        o.copy_kind,
        o.context,
        o.stream,
        o.correlation,
        o.graph_node,
        o.launch_thread,
        o.launch_start_ns,
        o.launch_end_ns
    FROM gap AS g
    INNER JOIN lane_op AS o ON g.idle_end_ns = o.start_ns
    -- A page migration is nobody's launch: the next op that was asked for tells what was waited for.
    WHERE o.end_ns > o.start_ns AND coalesce(o.copy_kind, 0) NOT BETWEEN 11 AND 13
    QUALIFY row_number() OVER (
        PARTITION BY g.gap
        ORDER BY
            o.context IS NOT DISTINCT FROM $context AND o.stream IS NOT DISTINCT FROM $stream DESC,
            o.end_ns, o.stream, o.correlation
    ) = 1
),

_missed AS (
    SELECT g.*
    FROM gap AS g
    ANTI JOIN _exact AS e ON g.gap = e.gap
),

_launched AS (
    SELECT *
    FROM lane_op
    WHERE
        launch_start_ns IS NOT NULL
        AND end_ns > start_ns
        AND start_ns >= (SELECT min(idle_end_ns) FROM _missed)
),

_next AS (
    SELECT * FROM _exact
    UNION ALL
    SELECT
        m.gap,
        l.name_id,
        l.kind,
        l.copy_kind,
        l.context,
        l.stream,
        l.correlation,
        l.graph_node,
        l.launch_thread,
        l.launch_start_ns,
        l.launch_end_ns
    FROM _missed AS m
    ASOF INNER JOIN _launched AS l ON m.idle_end_ns <= l.start_ns
),

_previous AS (
    SELECT
        g.gap,
        bool_or(
            o.stream IS NOT DISTINCT FROM n.stream AND o.context IS NOT DISTINCT FROM n.context
        ) AS same_stream,
        bool_or(
            n.graph_node IS NOT NULL AND o.graph_node IS NOT NULL AND o.correlation = n.correlation
        ) AS same_graph
    FROM gap AS g
    INNER JOIN _next AS n ON g.gap = n.gap
    INNER JOIN lane_op AS o ON g.idle_start_ns = o.end_ns
    WHERE o.end_ns > o.start_ns
    GROUP BY g.gap
),

_unlaunched AS (
    SELECT
        g.gap,
        g.idle_end_ns
    FROM gap AS g
    LEFT JOIN _next AS n ON g.gap = n.gap
    WHERE n.launch_start_ns IS NULL
),

_caller AS (
    SELECT
        launch_start_ns AS at_ns,
        launch_thread
    FROM lane_op
    WHERE
        launch_start_ns IS NOT NULL
        AND launch_start_ns <= (SELECT max(idle_end_ns) FROM _unlaunched)
),

-- An op without a recorded call is asked about on the thread that launched last before it.
_likely AS (
    SELECT
        u.gap,
        c.launch_thread
    FROM _unlaunched AS u
    ASOF INNER JOIN _caller AS c ON u.idle_end_ns >= c.at_ns
),

-- Only a call too long to be only a launch is asked whether it was the first of its kernel.
_long AS (
    SELECT DISTINCT name_id
    FROM _next
    WHERE kind = 'kernel' AND launch_end_ns - launch_start_ns > 1000000
),

_name AS (
    SELECT
        o.name_id,
        min(o.launch_start_ns) AS launch_start_ns
    FROM op AS o
    SEMI JOIN _long AS n ON o.name_id = n.name_id
    WHERE o.lane BETWEEN $first_lane AND $last_lane AND o.kind = 'kernel'
    GROUP BY o.name_id
)

SELECT
    g.gap,
    n.name_id,
    n.kind,
    n.copy_kind,
    coalesce(n.launch_thread, l.launch_thread) AS thread,
    n.launch_start_ns,
    n.launch_end_ns,
    coalesce(p.same_stream, FALSE) AS same_stream,
    coalesce(p.same_graph, FALSE) AS same_graph,
    n.context,
    n.stream,
    coalesce(f.launch_start_ns = n.launch_start_ns, FALSE) AS first_launch
FROM gap AS g
LEFT JOIN _next AS n ON g.gap = n.gap
LEFT JOIN _previous AS p ON g.gap = p.gap
LEFT JOIN _likely AS l ON g.gap = l.gap
LEFT JOIN _name AS f ON n.name_id = f.name_id AND n.kind = 'kernel'
ORDER BY g.gap
