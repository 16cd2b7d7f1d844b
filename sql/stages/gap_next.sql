-- gap_next: the op that ends each gap, the one before it, and the call that asked for it.
--
-- Question: what was the GPU waiting for?
-- Grain:    one row per gap
-- Needs:    gap, lane_op, op, lane
-- Params:
--   $context BIGINT   context of the primary stream
--   $stream  BIGINT   primary stream
--   $process BIGINT   the lane's process
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
--   first_launch     BOOLEAN  no kernel of that name was launched before in the process
--   launched_ns      BIGINT   end of the lane's launch before it, by any thread; NULL if none
WITH

_exact AS (
    SELECT
        g.gap,
        o.*
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
        l.*
    FROM _missed AS m
    ASOF INNER JOIN _launched AS l ON m.idle_end_ns <= l.start_ns
),

_previous AS (
    SELECT
        g.gap,
        list({'context': o.context, 'stream': o.stream}) AS streams,
        list(o.correlation) FILTER (WHERE o.graph_node IS NOT NULL) AS graphs
    FROM gap AS g
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

_name AS (
    SELECT
        o.name_id,
        min(o.launch_start_ns) AS launch_start_ns
    FROM op AS o
    INNER JOIN lane AS l ON o.lane = l.lane
    WHERE l.process = $process AND o.kind = 'kernel'
    GROUP BY o.name_id
),

_earlier AS (
    SELECT
        launch_start_ns,
        max(launch_end_ns) OVER (
            ORDER BY launch_start_ns RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS launched_ns
    FROM lane_op
    WHERE launch_start_ns IS NOT NULL
    QUALIFY row_number() OVER (PARTITION BY launch_start_ns) = 1
)

SELECT
    g.gap,
    n.name_id,
    n.kind,
    n.copy_kind,
    coalesce(n.launch_thread, l.launch_thread) AS thread,
    n.launch_start_ns,
    n.launch_end_ns,
    coalesce(
        list_contains(p.streams, {'context': n.context, 'stream': n.stream}), FALSE
    ) AS same_stream,
    n.graph_node IS NOT NULL
    AND n.correlation IS NOT NULL
    AND coalesce(list_contains(p.graphs, n.correlation), FALSE) AS same_graph,
    coalesce(f.launch_start_ns = n.launch_start_ns, FALSE) AS first_launch,
    e.launched_ns
FROM gap AS g
LEFT JOIN _next AS n ON g.gap = n.gap
LEFT JOIN _previous AS p ON g.gap = p.gap
LEFT JOIN _likely AS l ON g.gap = l.gap
LEFT JOIN _name AS f ON n.name_id = f.name_id AND n.kind = 'kernel'
LEFT JOIN _earlier AS e ON n.launch_start_ns = e.launch_start_ns
ORDER BY g.gap
