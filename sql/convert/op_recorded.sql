-- op_recorded: device work as recorded, each row with the call that started it.
--
-- Question: what ran on the devices, and who asked for it?
-- Grain:    one row per kernel, copy, memset and whole-graph record
-- Needs:    _raw_kernel, _raw_memcpy, _raw_memset, _raw_graph, _launch
-- Params:
--   $limit_ns BIGINT   longest believable duration, NULL if unknown
-- Columns:
--   kind             VARCHAR
--   process          BIGINT
--   device           INTEGER
--   start_ns         BIGINT
--   end_ns           BIGINT
--   fault            VARCHAR   why the row cannot be used, NULL if it can
--   name_id          BIGINT    a kernel's full name; its base name, or -1, where none was recorded
--   short_id         BIGINT
--   context          BIGINT
--   stream           BIGINT
--   correlation      BIGINT
--   graph_node       BIGINT
--   graph            BIGINT
--   bytes            BIGINT
--   copy_kind        INTEGER
--   src_kind         INTEGER
--   dst_kind         INTEGER
--   peer             BOOLEAN   a copy between devices
--   grid             BIGINT
--   block            INTEGER
--   registers        INTEGER
--   shared_bytes     INTEGER
--   launch_thread    BIGINT
--   launch_start_ns  BIGINT
--   launch_end_ns    BIGINT
--   launch_name_id   BIGINT
WITH
_work AS (
    SELECT
        'kernel' AS kind,
        *
    FROM _raw_kernel
    UNION ALL
    SELECT
        'memcpy' AS kind,
        *
    FROM _raw_memcpy
    UNION ALL
    SELECT
        'memset' AS kind,
        *
    FROM _raw_memset
    UNION ALL
    SELECT
        'graph' AS kind,
        *
    FROM _raw_graph
)

SELECT
    _work.kind,
    process_of(_work.process_id) AS process,
    coalesce(try_cast(_work.device AS INTEGER), 0) AS device,
    _work.start_ns,
    _work.end_ns,
    time_fault(_work.start_ns, _work.end_ns, $limit_ns) AS fault,
    -- Every kernel has a name to be listed under. No id of nsys is negative.
    CASE WHEN _work.kind = 'kernel' THEN coalesce(_work.name_id, _work.short_id, -1) END AS name_id,
    _work.short_id,
    _work.context,
    _work.stream,
    _work.correlation,
    _work.graph_node,
    _work.graph,
    _work.bytes,
    try_cast(_work.copy_kind AS INTEGER) AS copy_kind,
    try_cast(_work.src_kind AS INTEGER) AS src_kind,
    try_cast(_work.dst_kind AS INTEGER) AS dst_kind,
    coalesce(_work.copy_kind = 10, false) OR coalesce(_work.src_device != _work.dst_device, false) AS peer,
    _work.grid,
    try_cast(_work.block AS INTEGER) AS block,
    try_cast(_work.registers AS INTEGER) AS registers,
    try_cast(_work.shared_bytes AS INTEGER) AS shared_bytes,
    _launch.launch_thread,
    _launch.launch_start_ns,
    _launch.launch_end_ns,
    _launch.launch_name_id
FROM _work
LEFT JOIN _launch ON process_of(_work.process_id) = _launch.process AND _work.correlation = _launch.correlation
