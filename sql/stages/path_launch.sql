-- path_launch: the ops whose launch was inside a range.
--
-- Question: which device work belongs to which place in the code?
-- Grain:    one row per op
-- Needs:    path_found
-- Columns:
--   path      BIGINT  path of the innermost range
--   start_ns  BIGINT  device start
--   end_ns    BIGINT  device end
SELECT
    path,
    start_ns,
    end_ns
FROM path_found
WHERE call IS NULL AND path >= 0 AND end_ns > start_ns
