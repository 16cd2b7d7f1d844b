-- op_kernel: kernels as recorded.
--
-- Question: what ran on the device?
-- Grain:    one row per kernel record
-- Needs:    _raw_kernel
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   kind          VARCHAR
--   process       BIGINT
--   device        INTEGER
--   start_ns      BIGINT
--   end_ns        BIGINT
--   fault         VARCHAR   why the row cannot be used, NULL if it can
--   name_id       BIGINT
--   short_id      BIGINT
--   context       BIGINT
--   stream        BIGINT
--   correlation   BIGINT
--   graph_node    BIGINT
--   graph         BIGINT
--   bytes         BIGINT
--   copy_kind     INTEGER
--   src_kind      INTEGER
--   dst_kind      INTEGER
--   peer          BOOLEAN   a copy between devices
--   grid          BIGINT
--   block         INTEGER
--   registers     INTEGER
--   shared_bytes  INTEGER
SELECT
    'kernel' AS kind,
    process_of(process_id) AS process,
    coalesce(try_cast(device AS INTEGER), 0) AS device,
    start_ns,
    end_ns,
    time_fault(start_ns, end_ns, $limit_ns) AS fault,
    name_id,
    short_id,
    context,
    stream,
    correlation,
    graph_node,
    graph,
    NULL::BIGINT AS bytes,
    NULL::INTEGER AS copy_kind,
    NULL::INTEGER AS src_kind,
    NULL::INTEGER AS dst_kind,
    false AS peer,
    grid,
    try_cast(block AS INTEGER) AS block,
    try_cast(registers AS INTEGER) AS registers,
    try_cast(shared_bytes AS INTEGER) AS shared_bytes
FROM _raw_kernel
