-- op_name: what each op is.
--
-- Question: which kernel or copy is it?
-- Grain:    one row per op, in the order of the store
-- Needs:    lane_op
-- Columns:
--   kind       BIGINT  0 kernel, 1 memcpy, 2 memset, 3 graph
--   name_id    BIGINT  kernel name
--   copy_kind  BIGINT  CUPTI copy kind
--   class      BIGINT  place of a compute kernel's class in the claiming order
SELECT
    (CASE kind WHEN 'kernel' THEN 0 WHEN 'memcpy' THEN 1 WHEN 'memset' THEN 2 ELSE 3 END)::BIGINT AS kind,
    name_id,
    copy_kind::BIGINT AS copy_kind,
    class_rank::BIGINT AS class
FROM lane_op
