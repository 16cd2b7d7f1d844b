-- lane_op: the device work of one lane, in the order in which it began.
--
-- Question: what ran on this GPU for this process?
-- Grain:    one row per kernel, copy, set or graph replay
-- Needs:    op
-- Params:
--   $lane INTEGER   the lane's number in its trace
-- Columns:
--   start_ns        BIGINT    device start
--   end_ns          BIGINT    device end
--   kind            VARCHAR   kernel, memcpy, memset or graph
--   comm            BOOLEAN   communication: by kernel name, or a copy between devices
--   is_compute      BOOLEAN   a kernel that is not communication
--   is_graph        BOOLEAN   a whole-graph row, opaque
--   is_copy         BOOLEAN   a copy or set that is not communication
--   class_rank      UTINYINT  place of the kernel's class in the claiming order
--   name_id         BIGINT    full kernel name
--   context         BIGINT    CUDA context
--   stream          BIGINT    CUDA stream
--   correlation     BIGINT    id shared with the launching call
--   graph_node      BIGINT    set for kernels that a graph replay ran
--   bytes           BIGINT    size of a copy or set
--   copy_kind       INTEGER   CUPTI copy kind
--   src_kind        INTEGER   memory kind of the source
--   dst_kind        INTEGER   memory kind of the destination
--   grid            BIGINT    blocks of a kernel
--   block           INTEGER   threads of a block
--   registers       INTEGER   registers of a thread
--   shared_bytes    INTEGER   shared memory of a block
--   launch_thread   BIGINT    thread of the launching call
--   launch_start_ns BIGINT    the launching call
--   launch_end_ns   BIGINT    its end
--   launch_name_id  BIGINT    its name
SELECT
    start_ns,
    end_ns,
    kind,
    comm,
    kind = 'kernel' AND NOT comm AS is_compute,
    kind = 'graph' AS is_graph,
    kind IN ('memcpy', 'memset') AND NOT comm AS is_copy,
    class_rank,
    name_id,
    context,
    stream,
    correlation,
    graph_node,
    bytes,
    copy_kind,
    src_kind,
    dst_kind,
    grid,
    block,
    registers,
    shared_bytes,
    launch_thread,
    launch_start_ns,
    launch_end_ns,
    launch_name_id
FROM op
WHERE lane = $lane
