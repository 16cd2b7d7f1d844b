-- timeline_drawn: the marks of one window as the document holds them.
--
-- Question: what is drawn where?
-- Grain:    one row per mark
-- Needs:    timeline_mark
-- Params:
--   $from_ns BIGINT   as timeline_op
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  class
--   name        BIGINT   as timeline_text, or NULL
--   start_ns    BIGINT   first instant, from the start of the window
--   dur_ns      BIGINT   length
--   n           BIGINT   what it stands for
--   covered_ns  BIGINT   of the length, what is really covered
SELECT
    row,
    class,
    name,
    start_ns - $from_ns AS start_ns,
    end_ns - start_ns AS dur_ns,
    n,
    covered_ns
FROM timeline_mark
ORDER BY row, start_ns, dur_ns, class, name, n, covered_ns
