-- kernel_match: names that no earlier rule took and that this rule matches.
--
-- Question: which kernel names does this rule class?
-- Grain:    one row per kernel name
-- Needs:    _kernel_class
-- Params:
--   $pattern VARCHAR   the rule, RE2
-- Columns:
--   name_id   BIGINT   the kernel's full name
SELECT name_id
FROM _kernel_class
WHERE
    class IS NULL
    AND regexp_matches(head, $pattern)
ORDER BY name_id
