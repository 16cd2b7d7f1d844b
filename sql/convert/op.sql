-- op: device work, each with the call that started it.
--
-- Question: what ran on each lane, and who asked for it?
-- Grain:    one row per kernel, copy, memset and whole graph with usable times
-- Needs:    _op, lane, kernel_name
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
WITH
-- Names and lanes travel through the sort as small numbers: rows of texts would double its cost.
_sorted AS (
    SELECT
        lane.lane,
        _op.start_ns,
        _op.end_ns,
        CASE _op.kind WHEN 'kernel' THEN 0::UTINYINT WHEN 'memcpy' THEN 1 WHEN 'memset' THEN 2 ELSE 3 END AS kind_code,
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
        _op.launch_thread,
        _op.launch_start_ns,
        _op.launch_end_ns,
        _op.launch_name_id
    FROM _op
    INNER JOIN lane ON _op.process = lane.process AND _op.device = lane.device
    LEFT JOIN kernel_name ON _op.name_id = kernel_name.name_id
    WHERE _op.fault IS NULL
    -- The engine sorts keys above 24 bytes, a byte for NULL each, at half the speed.
    ORDER BY
        lane.lane::USMALLINT,
        _op.start_ns,
        short_duration(_op.start_ns, _op.end_ns),
        (coalesce(_op.stream & 65535, 65535) << 16 | coalesce(_op.correlation & 65535, 65535))::UINTEGER,
        -- What is equal in all that, such as nodes of graphs without a call, shall not come as it may.
        (coalesce(_op.name_id, _op.bytes, 0) & 255)::UTINYINT
)

SELECT
    lane,
    start_ns,
    end_ns,
    CASE kind_code WHEN 0 THEN 'kernel' WHEN 1 THEN 'memcpy' WHEN 2 THEN 'memset' ELSE 'graph' END AS kind,
    comm,
    class_rank,
    name_id,
    context,
    stream,
    correlation,
    graph_node,
    graph,
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
FROM _sorted
