-- timeline_count: how many marks there are.
--
-- Question: does the step fit the page?
-- Grain:    one row
-- Needs:    timeline_mark
-- Columns:
--   marks  BIGINT  marks
SELECT count(*) AS marks
FROM timeline_mark
