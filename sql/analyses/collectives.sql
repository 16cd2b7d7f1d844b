-- collectives: communication by operation and communicator.
--
-- Question: which collectives does the GPU wait for, and which are hidden?
-- Grain:    one row per operation, source of its name, and communicator
-- Needs:    collective, exposed_piece
-- Columns:
--   op            VARCHAR  operation; p2p_copy for copies between devices
--   op_source     VARCHAR  payload, nvtx or kernel_name
--   communicator  VARCHAR  its id; NULL where NCCL did not say
--   count         BIGINT   ops that kept steps asked for
--   bytes         BIGINT   per rank, as NCCL counts; size of copies; NULL where any is unknown
--   work_ns       BIGINT   summed durations: work, not wall time
--   exposed_ns    BIGINT   time inside the kept windows that no compute hid
WITH
_exposed AS (
    SELECT
        op_no,
        sum(end_ns - start_ns) AS exposed_ns
    FROM exposed_piece
    GROUP BY op_no
)

SELECT
    c.op,
    c.op_source,
    c.comm AS communicator,
    count(*) FILTER (WHERE c.owned) AS count,
    CASE
        WHEN count(c.bytes) FILTER (WHERE c.owned) = count(*) FILTER (WHERE c.owned)
            THEN sum(c.bytes) FILTER (WHERE c.owned)
    END::BIGINT AS bytes,
    coalesce(sum(c.end_ns - c.start_ns) FILTER (WHERE c.owned), 0)::BIGINT AS work_ns,
    coalesce(sum(e.exposed_ns), 0)::BIGINT AS exposed_ns
FROM collective AS c
LEFT JOIN _exposed AS e ON c.op_no = e.op_no
WHERE c.owned OR e.op_no IS NOT NULL
GROUP BY c.op, c.op_source, c.comm
ORDER BY exposed_ns DESC, work_ns DESC, op, op_source, communicator
