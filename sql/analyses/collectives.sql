-- collectives: communication by operation.
--
-- Question: which collectives does the GPU wait for, and which are hidden?
-- Grain:    one row per operation
-- Needs:    owned_op, exposed, kernel_name
-- Columns:
--   op          VARCHAR  operation, by kernel name; p2p_copy for copies between devices
--   count       BIGINT   ops
--   bytes       HUGEINT  size of the copies; NULL where it was not recorded
--   work_ns     BIGINT   summed durations: work, not wall time
--   exposed_ns  BIGINT   time inside the kept windows that no compute hid
WITH
_all AS (
    SELECT
        name_id,
        kind,
        1 AS count,
        bytes,
        end_ns - start_ns AS work_ns,
        0 AS exposed_ns
    FROM owned_op
    WHERE comm
    UNION ALL
    SELECT
        name_id,
        kind,
        0,
        NULL,
        0,
        exposed_ns
    FROM exposed
    WHERE state = 'comm'
)

SELECT
    CASE WHEN a.kind = 'memcpy' THEN 'p2p_copy' ELSE coalesce(n.op, 'generic') END AS op,
    sum(a.count)::BIGINT AS count,
    sum(a.bytes)::HUGEINT AS bytes,
    sum(a.work_ns)::BIGINT AS work_ns,
    sum(a.exposed_ns)::BIGINT AS exposed_ns
FROM _all AS a
LEFT JOIN kernel_name AS n ON a.name_id = n.name_id AND a.kind = 'kernel'
GROUP BY ALL
ORDER BY exposed_ns DESC, work_ns DESC, op
