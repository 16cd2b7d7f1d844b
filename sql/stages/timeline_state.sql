-- timeline_state: the state of the GPU through one window of the timeline, interval by interval.
--
-- Question: what was the GPU doing at each instant?
-- Grain:    one row per interval of one state; they tile the window
-- Needs:    timeline_op, timeline_row
-- Params:
--   $from_ns BIGINT   as timeline_op
--   $to_ns   BIGINT   as timeline_op
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  bucket of level 1
--   name        BIGINT   NULL
--   start_ns    BIGINT   first instant
--   end_ns      BIGINT   first instant after
--   n           BIGINT   1
--   covered_ns  BIGINT   length
--   whole       BOOLEAN  FALSE
-- From one op's start to the next nothing begins, so the states can only follow one another in the
-- order of level 1: both run, one ends, and so on down to nothing.
WITH
_begin AS (
    SELECT
        $from_ns AS at_ns,
        $from_ns AS c_ns,
        $from_ns AS g_ns,
        $from_ns AS n_ns,
        $from_ns AS m_ns
    UNION ALL
    SELECT
        from_ns,
        CASE WHEN is_compute THEN until_ns END,
        CASE WHEN is_graph THEN until_ns END,
        CASE WHEN comm THEN until_ns END,
        CASE WHEN is_copy THEN until_ns END
    FROM timeline_op
    WHERE until_ns > from_ns
),

_until AS (
    SELECT
        at_ns,
        max(c_ns) OVER _so_far AS c_ns,
        max(g_ns) OVER _so_far AS g_ns,
        max(n_ns) OVER _so_far AS n_ns,
        max(m_ns) OVER _so_far AS m_ns,
        coalesce(lead(at_ns) OVER _so_far, $to_ns) AS next_ns
    FROM _begin
    WINDOW _so_far AS (ORDER BY at_ns ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW)
),

_turn AS (
    SELECT
        at_ns,
        least(next_ns, greatest(at_ns, least(c_ns, n_ns))) AS overlap_ns,
        least(next_ns, greatest(at_ns, c_ns)) AS compute_ns,
        least(next_ns, greatest(at_ns, c_ns, g_ns)) AS graph_ns,
        least(next_ns, greatest(at_ns, c_ns, g_ns, n_ns)) AS comm_ns,
        least(next_ns, greatest(at_ns, c_ns, g_ns, n_ns, m_ns)) AS mem_ns,
        next_ns
    FROM _until
    WHERE next_ns > at_ns
),

_piece AS (
    SELECT
        unnest(
            [
                'compute_comm_overlap', 'compute_only', 'graph_opaque', 'exposed_comm', 'exposed_mem',
                'idle'
            ]
        ) AS class,
        unnest([at_ns, overlap_ns, compute_ns, graph_ns, comm_ns, mem_ns]) AS start_ns,
        unnest([overlap_ns, compute_ns, graph_ns, comm_ns, mem_ns, next_ns]) AS end_ns
    FROM _turn
),

_change AS (
    SELECT
        class,
        start_ns
    FROM _piece
    WHERE end_ns > start_ns
    QUALIFY class IS DISTINCT FROM lag(class) OVER (ORDER BY start_ns)
),

_interval AS (
    SELECT
        class,
        start_ns,
        coalesce(lead(start_ns) OVER (ORDER BY start_ns), $to_ns) AS end_ns
    FROM _change
)

SELECT
    r.row,
    i.class,
    NULL::BIGINT AS name,
    i.start_ns,
    i.end_ns,
    1 AS n,
    i.end_ns - i.start_ns AS covered_ns,
    FALSE AS whole
FROM _interval AS i
INNER JOIN timeline_row AS r ON r.kind = 'state'
