-- timeline_host_range: outermost ranges of the launching threads during one window of the timeline.
--
-- Question: what did the program say it was doing meanwhile?
-- Grain:    one row per range
-- Needs:    timeline_range, timeline_row
-- Params:
--   $from_ns BIGINT   as timeline_op
--   $to_ns   BIGINT   as timeline_op
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  range
--   name        BIGINT   text
--   start_ns    BIGINT   first instant inside the window
--   end_ns      BIGINT   first instant after
--   n           BIGINT   1
--   covered_ns  BIGINT   length inside the window
--   whole       BOOLEAN  FALSE
SELECT
    w.row,
    'range' AS class,
    r.name_id AS name,
    greatest(r.start_ns, $from_ns) AS start_ns,
    least(r.end_ns, $to_ns) AS end_ns,
    1 AS n,
    least(r.end_ns, $to_ns) - greatest(r.start_ns, $from_ns) AS covered_ns,
    FALSE AS whole
FROM timeline_range AS r
INNER JOIN timeline_row AS w ON w.kind = 'ranges' AND r.thread = w.thread AND r.depth = w.depth
WHERE r.start_ns < $to_ns AND r.end_ns > $from_ns
