-- op_memcpy: copies as recorded.
--
-- Question: what was copied, between which memories and devices?
-- Grain:    one row per copy record
-- Needs:    _raw_memcpy
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
    'memcpy' AS kind,
    process_of(process_id) AS process,
    coalesce(try_cast(device AS INTEGER), 0) AS device,
    start_ns,
    end_ns,
    time_fault(start_ns, end_ns, $limit_ns) AS fault,
    NULL::BIGINT AS name_id,
    NULL::BIGINT AS short_id,
    context,
    stream,
    correlation,
    graph_node,
    NULL::BIGINT AS graph,
    bytes,
    try_cast(copy_kind AS INTEGER) AS copy_kind,
    try_cast(src_kind AS INTEGER) AS src_kind,
    try_cast(dst_kind AS INTEGER) AS dst_kind,
    coalesce(copy_kind = 10, false) OR coalesce(src_device != dst_device, false) AS peer,
    NULL::BIGINT AS grid,
    NULL::INTEGER AS block,
    NULL::INTEGER AS registers,
    NULL::INTEGER AS shared_bytes
FROM _raw_memcpy
