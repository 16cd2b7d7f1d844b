-- op_place: where each op ran.
--
-- Question: on which stream, in which graph?
-- Grain:    one row per op, in the order of the store
-- Needs:    lane_op
-- Columns:
--   context      BIGINT  CUDA context
--   stream       BIGINT  CUDA stream
--   correlation  BIGINT  id shared with the launching call
--   graph_node   BIGINT  set for kernels that a graph replay ran
SELECT
    context,
    stream,
    correlation,
    graph_node
FROM lane_op
