-- collective: communication of the lane, with what NCCL and the framework say of it.
--
-- Question: which collective is this kernel, on which communicator, in which step?
-- Grain:    one row per communication op with a duration, whole capture
-- Needs:    comm_op, comm_place, comm_link, owned_op, nccl_launch, comm_range, kernel_name, step_start
-- Params:
--   $by_start BOOLEAN  no launch or no host range to go by: the device start decides
-- Columns:
--   op_no      BIGINT    number, by time
--   start_ns   BIGINT    device start
--   end_ns     BIGINT    device end
--   order_ns   BIGINT    when the host asked for it; its device start where that is not known
--   op         VARCHAR   operation
--   op_source  VARCHAR   payload, nvtx or kernel_name
--   comm       VARCHAR   communicator id
--   ranks      INTEGER   its size, where known
--   comm_rank  INTEGER   this lane in it, where known
--   bytes      BIGINT    per rank; of a copy its size
--   peer       INTEGER   the one peer of a send or receive
--   peers      VARCHAR   all peers of its sends and receives, by comma
--   root       INTEGER   root
--   named      VARCHAR   what the name of its communicator or of an enclosing range says it is for
--   beside     INTEGER   1 where the program asks for it right before or after attention, else 0
--   nvlink     BIGINT    mean of the NVLink counters meanwhile, hundredths of a percent
--   pcie       BIGINT    the same of PCIe
--   context    BIGINT    CUDA context
--   stream     BIGINT    CUDA stream
--   correlation BIGINT   id shared with the launching call
--   step       INTEGER   step whose host range began last before the launch; NULL before the first
--   number     BIGINT    that step's own number
--   owned      BOOLEAN   a kept step asked for it
WITH
_range AS (
    SELECT DISTINCT
        thread,
        start_ns,
        end_ns,
        comms
    FROM nccl_launch
),

_called AS (
    SELECT
        o.op_no,
        r.thread,
        r.start_ns,
        r.comms,
        row_number() OVER (PARTITION BY r.thread, r.start_ns ORDER BY o.launch_start_ns, o.op_no) AS place,
        count(*) OVER (PARTITION BY r.thread, r.start_ns) AS kernels
    FROM comm_op AS o
    ASOF INNER JOIN _range AS r ON o.launch_thread = r.thread AND o.launch_start_ns >= r.start_ns
    WHERE o.launch_start_ns < r.end_ns
),

_payload AS (
    SELECT
        c.op_no,
        l.op,
        l.comm,
        l.ranks,
        l.comm_rank,
        l.bytes,
        l.peer,
        l.peers,
        l.root,
        l.named
    FROM _called AS c
    INNER JOIN nccl_launch AS l
        ON
            c.thread = l.thread
            AND c.start_ns = l.start_ns
            AND (c.comms = 1 OR (c.comms = c.kernels AND c.place = l.place))
),

_framework AS (
    SELECT
        o.op_no,
        r.op
    FROM comm_op AS o
    ASOF INNER JOIN comm_range AS r ON o.launch_thread = r.thread AND o.launch_start_ns >= r.start_ns
    WHERE o.launch_start_ns < r.end_ns
),

_asked AS (
    SELECT
        o.op_no,
        s.step,
        s.number
    FROM comm_op AS o
    ASOF INNER JOIN step_start AS s ON o.launch_start_ns >= s.host_ns
    WHERE o.launch_start_ns IS NOT NULL AND NOT $by_start
    UNION ALL
    SELECT
        o.op_no,
        s.step,
        s.number
    FROM comm_op AS o
    ASOF INNER JOIN step_start AS s ON o.start_ns >= s.device_ns
    WHERE o.launch_start_ns IS NULL OR $by_start
),

_owned AS (
    SELECT DISTINCT
        start_ns,
        end_ns,
        coalesce(context, -1) AS context,
        coalesce(stream, -1) AS stream,
        coalesce(correlation, -1) AS correlation
    FROM owned_op
    WHERE comm
)

SELECT
    o.op_no,
    o.start_ns,
    o.end_ns,
    coalesce(o.launch_start_ns, o.start_ns) AS order_ns,
    CASE
        WHEN o.kind = 'memcpy' THEN 'p2p_copy'
        WHEN p.op = 'send_recv' AND f.op = 'all_to_all' THEN f.op
        ELSE coalesce(p.op, f.op, k.op, 'generic')
    END AS op,
    CASE
        WHEN o.kind = 'memcpy' THEN 'kernel_name'
        WHEN p.comm IS NOT NULL OR p.bytes IS NOT NULL THEN 'payload'
        WHEN p.op IS NOT NULL OR f.op IS NOT NULL THEN 'nvtx'
        ELSE 'kernel_name'
    END AS op_source,
    p.comm,
    p.ranks,
    p.comm_rank,
    coalesce(p.bytes, o.bytes) AS bytes,
    p.peer,
    p.peers,
    p.root,
    coalesce(p.named, g.named) AS named,
    g.beside,
    i.nvlink,
    i.pcie,
    o.context,
    o.stream,
    o.correlation,
    a.step,
    a.number,
    w.start_ns IS NOT NULL AS owned
FROM comm_op AS o
LEFT JOIN _payload AS p ON o.op_no = p.op_no
LEFT JOIN _framework AS f ON o.op_no = f.op_no
LEFT JOIN _asked AS a ON o.op_no = a.op_no
LEFT JOIN comm_place AS g ON o.op_no = g.op_no
LEFT JOIN comm_link AS i ON o.op_no = i.op_no
LEFT JOIN kernel_name AS k ON o.name_id = k.name_id AND o.kind = 'kernel'
LEFT JOIN _owned AS w
    ON
        o.start_ns = w.start_ns
        AND o.end_ns = w.end_ns
        AND coalesce(o.context, -1) = w.context
        AND coalesce(o.stream, -1) = w.stream
        AND coalesce(o.correlation, -1) = w.correlation
ORDER BY o.op_no
