-- path_name: each place in the code, written out.
--
-- Question: what is this path called?
-- Grain:    one row per path
-- Needs:    path_step, path, nvtx_place
-- Columns:
--   path       BIGINT   path
--   path_name  VARCHAR  texts from the outermost range inwards; numbers that vary are written N
--   inner_name VARCHAR  without the step's own range, every number N; NULL if nothing is left
--   domain     VARCHAR  NVTX domain of the innermost range, NULL for the default one
SELECT
    s.path,
    -- A path is numbered after the one above it, so ancestors come outermost first.
    string_agg(n.text, ' / ' ORDER BY s.ancestor) AS path_name,
    string_agg(n.name, ' / ' ORDER BY s.ancestor) FILTER (WHERE NOT n.is_step) AS inner_name,
    any_value(n.label) FILTER (WHERE s.ancestor = s.path) AS domain
FROM path_step AS s
INNER JOIN path AS p ON s.ancestor = p.path
INNER JOIN nvtx_place AS n ON p.place = n.place
GROUP BY s.path
ORDER BY s.path
