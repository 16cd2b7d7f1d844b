-- timeline_phase: ranges at device time: from the first op launched in a range to the end of the last,
-- communication apart.
--
-- Question: which part of the program was the GPU working for?
-- Grain:    one row per range that launched something
-- Needs:    timeline_op, timeline_range, timeline_row
-- Params:
--   $main BIGINT   the stepping thread
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  range
--   name        BIGINT   text
--   start_ns    BIGINT   first op begins
--   end_ns      BIGINT   last op ends
--   n           BIGINT   1
--   covered_ns  BIGINT   time that no earlier range of its row covers
--   whole       BOOLEAN  FALSE
-- Collectives run beside phases that did not ask for them, and would stretch those that did; they have
-- rows of their own. A helper thread (autograd) works for the stepping thread: its ranges lie below that thread's.
WITH
_launch AS (
    SELECT
        launch_thread AS thread,
        launch_start_ns AS at_ns,
        from_ns,
        until_ns
    FROM timeline_op
    WHERE
        launch_start_ns IS NOT NULL
        AND until_ns > from_ns
        AND NOT comm
        AND EXISTS (SELECT 1 FROM timeline_range)
),

_outer AS (
    SELECT *
    FROM timeline_range
    WHERE depth = 1
),

_inner AS (
    SELECT *
    FROM timeline_range
    WHERE depth = 2
),

_own_outer AS (
    SELECT
        l.*,
        CASE WHEN l.at_ns < r.end_ns THEN r.range END AS own_outer
    FROM _launch AS l
    ASOF LEFT JOIN _outer AS r ON l.thread = r.thread AND l.at_ns >= r.start_ns
),

_own AS (
    SELECT
        l.*,
        CASE WHEN l.at_ns < r.end_ns THEN r.range END AS own_inner
    FROM _own_outer AS l
    ASOF LEFT JOIN _inner AS r ON l.thread = r.thread AND l.at_ns >= r.start_ns
),

_main_outer AS (
    SELECT
        l.*,
        CASE WHEN l.at_ns < r.end_ns THEN r.range END AS main_outer
    FROM (SELECT * FROM _own WHERE thread <> $main) AS l
    ASOF LEFT JOIN (SELECT * FROM _outer WHERE thread = $main) AS r ON l.at_ns >= r.start_ns
),

_main AS (
    SELECT
        l.*,
        CASE WHEN l.at_ns < r.end_ns THEN r.range END AS main_inner
    FROM _main_outer AS l
    ASOF LEFT JOIN (SELECT * FROM _inner WHERE thread = $main) AS r ON l.at_ns >= r.start_ns
),

_level AS (
    SELECT
        from_ns,
        until_ns,
        own_outer AS first_range,
        own_inner AS second_range
    FROM _own
    WHERE thread = $main
    UNION ALL
    SELECT
        from_ns,
        until_ns,
        coalesce(main_outer, own_outer),
        CASE WHEN main_outer IS NULL THEN own_inner ELSE coalesce(main_inner, own_outer) END
    FROM _main
),

_span AS (
    SELECT
        1 AS depth,
        first_range AS range,
        min(from_ns) AS start_ns,
        max(until_ns) AS end_ns
    FROM _level
    WHERE first_range IS NOT NULL
    GROUP BY first_range
    UNION ALL
    SELECT
        2,
        second_range,
        min(from_ns),
        max(until_ns)
    FROM _level
    WHERE second_range IS NOT NULL
    GROUP BY second_range
)

SELECT
    w.row,
    'range' AS class,
    r.name_id AS name,
    s.start_ns,
    s.end_ns,
    1 AS n,
    newly_covered(
        s.end_ns,
        max(s.end_ns) OVER (
            PARTITION BY w.row ORDER BY s.start_ns, s.end_ns, s.range
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ),
        s.start_ns
    )::BIGINT AS covered_ns,
    FALSE AS whole
FROM _span AS s
INNER JOIN timeline_range AS r ON s.range = r.range
INNER JOIN timeline_row AS w ON w.kind = 'phase' AND s.depth = w.depth
