-- timeline_piece: everything that the timeline of one window shows, nothing merged yet.
--
-- Question: what happened in this step, row by row?
-- Grain:    one row per op, call, range, state and part of a gap
-- Needs:    timeline_work, timeline_state, timeline_idle, timeline_call, timeline_host_range,
--           timeline_phase
-- Columns:
--   row         INTEGER  as timeline_row
--   class       VARCHAR  class of the mark
--   name        BIGINT   as timeline_text, or NULL
--   start_ns    BIGINT   first instant
--   end_ns      BIGINT   first instant after
--   n           BIGINT   what it stands for: 1
--   covered_ns  BIGINT   time it adds to its row
--   whole       BOOLEAN  it is never merged
SELECT * FROM timeline_phase
UNION ALL BY NAME
SELECT * FROM timeline_state
UNION ALL BY NAME
SELECT * FROM timeline_work
UNION ALL BY NAME
SELECT * FROM timeline_idle
UNION ALL BY NAME
SELECT * FROM timeline_call
UNION ALL BY NAME
SELECT * FROM timeline_host_range
