-- timeline_depth: where there are ranges to show.
--
-- Question: which threads annotate, how deep?
-- Grain:    one row per (thread, depth)
-- Needs:    timeline_range, string
-- Columns:
--   thread    BIGINT   thread
--   depth     INTEGER  as timeline_range
--   backward  BOOLEAN  what it annotates is the work of PyTorch's autograd
SELECT
    r.thread,
    r.depth,
    coalesce(bool_or(regexp_matches(s.value, '^autograd::|Backward\d*$')), FALSE) AS backward
FROM timeline_range AS r
LEFT JOIN string AS s ON r.name_id = s.id
GROUP BY r.thread, r.depth
ORDER BY r.thread, r.depth
