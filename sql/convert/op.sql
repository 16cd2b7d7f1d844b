-- op: device work, each with the call that started it.
--
-- Question: what ran on each lane, and who asked for it?
-- Grain:    one row per kernel, copy, memset and whole graph with usable times
-- Needs:    _op, lane, kernel_name, _launch
-- Params:
-- Columns:
--   lane             INTEGER
--   start_ns         BIGINT
--   end_ns           BIGINT
--   kind             VARCHAR
--   comm             BOOLEAN
--   class_rank       UTINYINT
--   name_id          BIGINT
--   context          BIGINT
--   stream           BIGINT
--   correlation      BIGINT
--   graph_node       BIGINT
--   graph            BIGINT
--   bytes            BIGINT
--   copy_kind        INTEGER
--   src_kind         INTEGER
--   dst_kind         INTEGER
--   grid             BIGINT
--   block            INTEGER
--   registers        INTEGER
--   shared_bytes     INTEGER
--   launch_thread    BIGINT
--   launch_start_ns  BIGINT
--   launch_end_ns    BIGINT
--   launch_name_id   BIGINT
SELECT
    lane.lane,
    _op.start_ns,
    _op.end_ns,
    _op.kind,
    coalesce(kernel_name.comm, _op.peer) AS comm,
    kernel_name.class_rank,
    _op.name_id,
    _op.context,
    _op.stream,
    _op.correlation,
    _op.graph_node,
    _op.graph,
    _op.bytes,
    _op.copy_kind,
    _op.src_kind,
    _op.dst_kind,
    _op.grid,
    _op.block,
    _op.registers,
    _op.shared_bytes,
    _launch.launch_thread,
    _launch.launch_start_ns,
    _launch.launch_end_ns,
    _launch.launch_name_id
FROM _op
INNER JOIN lane ON _op.process = lane.process AND _op.device = lane.device
LEFT JOIN kernel_name ON _op.name_id = kernel_name.name_id
LEFT JOIN _launch ON _op.process = _launch.process AND _op.correlation = _launch.correlation
WHERE _op.fault IS NULL
ORDER BY lane.lane, _op.start_ns, _op.end_ns, _op.stream, _op.correlation
