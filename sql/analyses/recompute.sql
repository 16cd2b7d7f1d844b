-- recompute: attention kernels forward and backward.
--
-- Question: is the forward pass computed a second time?
-- Grain:    one row
-- Needs:    owned_op, kernel_name
-- Columns:
--   forward_count   BIGINT  attention kernels of the forward kind
--   backward_count  BIGINT  main attention kernels of the backward kind
WITH
_attention AS (
    SELECT
        name_id,
        regexp_matches(name, '(?i)bwd|backward') AS backward,
        -- Preparation and conversion around the backward kernel are not passes of their own.
        regexp_matches(name, '(?i)dot_do_o|convert_d[qkv]|preprocess|postprocess|combine|clear') AS helper
    FROM kernel_name
    WHERE class = 'attention'
)

SELECT
    count(*) FILTER (WHERE NOT a.backward AND NOT a.helper) AS forward_count,
    count(*) FILTER (WHERE a.backward AND NOT a.helper) AS backward_count
FROM owned_op AS o
INNER JOIN _attention AS a ON o.name_id = a.name_id
WHERE o.kind = 'kernel'
