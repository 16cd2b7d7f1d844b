-- timeline_text: the names on the marks of one window.
--
-- Question: what is each mark called?
-- Grain:    one row per name in use
-- Needs:    timeline_mark, kernel_name, string
-- Columns:
--   name  BIGINT   id of a text; 2^62 and the copy kind for a copy, 2^62 less 1 for a set
--   text  VARCHAR  short name of a kernel, name of a call without its ABI suffix, text of a range
WITH
_used AS (
    SELECT DISTINCT name
    FROM timeline_mark
    WHERE name IS NOT NULL
)

SELECT
    u.name,
    CASE
        WHEN u.name = 4611686018427387904 - 1 THEN 'memset'
        WHEN u.name >= 4611686018427387904
            THEN coalesce(
                [
                    'copy', 'host to device', 'device to host', 'host to array', 'array to host',
                    'array to array', 'array to device', 'device to array', 'within the device',
                    'host to host', 'device to device', 'page migration to device',
                    'page migration to host', 'page migration between devices'
                ][u.name - 4611686018427387904 + 1],
                'copy'
            )
        -- CUTLASS calls every kernel Kernel: only the full name tells them apart.
        WHEN k.name_id IS NOT NULL AND regexp_full_match(coalesce(k.short_name, ''), '(?i)(kernel\d*)?')
            THEN k.name
        WHEN k.name_id IS NOT NULL THEN k.short_name
        WHEN s.value LIKE 'cuda%' THEN regexp_replace(s.value, '(_pt[sd][zs])?_v\d{4,5}$', '')
        ELSE coalesce(s.value, '(unnamed)')
    END AS text
FROM _used AS u
LEFT JOIN kernel_name AS k ON u.name = k.name_id
LEFT JOIN string AS s ON u.name = s.id
ORDER BY u.name
