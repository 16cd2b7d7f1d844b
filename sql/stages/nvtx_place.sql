-- nvtx_place: the distinct names behind the texts, and which of them is the step itself.
--
-- Question: what does a place number stand for?
-- Grain:    one row per place
-- Needs:    nvtx_name, step_text
-- Params:
--   $source VARCHAR   source of the steps
--   $series VARCHAR   their pattern
-- Columns:
--   place    BIGINT   as nvtx_name
--   name     VARCHAR  as nvtx_name
--   text     VARCHAR  the one text behind the name, else the name
--   label    VARCHAR  as nvtx_name
--   is_step  BOOLEAN  the ranges are the steps
SELECT
    n.place,
    n.name,
    -- A number that never varies is part of a name: AddmmBackward0, a template's argument.
    CASE WHEN min(n.text) = max(n.text) THEN min(n.text) ELSE n.name END AS text,
    n.label,
    bool_or(t.name_id IS NOT NULL) AS is_step
FROM nvtx_name AS n
LEFT JOIN step_text AS t
    ON
        n.name_id = t.name_id AND t.source = $source AND t.series = $series
        AND t.source IN ('user', 'nvtx_step', 'framework')
GROUP BY n.place, n.name, n.label
ORDER BY n.place
