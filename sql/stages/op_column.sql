-- op_column: what each op is, where it ran and who asked for it, in integers.
--
-- Question: what did the lane do, op by op?
-- Grain:    one row per op, in the order of the store
-- Needs:    lane_op
-- Columns:
--   kind             BIGINT  0 kernel, 1 memcpy, 2 memset, 3 graph
--   name_id          BIGINT  kernel name
--   class            BIGINT  place of a compute kernel's class in the claiming order
--   copy_kind        BIGINT  CUPTI copy kind
--   context          BIGINT  CUDA context
--   stream           BIGINT  CUDA stream
--   correlation      BIGINT  id shared with the launching call
--   graph_node       BIGINT  set for kernels that a graph replay ran
--   launch_thread    BIGINT  thread of the launching call, NULL if no call was recorded
--   launch_start_ns  BIGINT  the launching call
--   launch_end_ns    BIGINT  its end
SELECT
    (CASE kind WHEN 'kernel' THEN 0 WHEN 'memcpy' THEN 1 WHEN 'memset' THEN 2 ELSE 3 END)::BIGINT AS kind,
    name_id,
    class_rank::BIGINT AS class,
    copy_kind::BIGINT AS copy_kind,
    context,
    stream,
    correlation,
    graph_node,
    launch_thread,
    launch_start_ns,
    launch_end_ns
FROM lane_op
